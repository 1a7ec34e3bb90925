import { type StatePart } from '../core/index.js';

interface SpentCode {
  readonly code: string;
  readonly athleteId: string;
  readonly accessToken: string;
}

/** Codes that the app has exchanged, each with its token: a second use of a code deletes the token. */
export class SpentCodes implements StatePart<readonly SpentCode[]> {
  private spent: SpentCode[] = [];

  clear(): void {
    this.spent = [];
  }

  save(): readonly SpentCode[] {
    return this.spent;
  }

  restore(saved: readonly SpentCode[]): void {
    this.spent = [...saved];
  }

  add(entry: SpentCode): void {
    this.spent.push(entry);
  }

  find(code: string): SpentCode | undefined {
    return this.spent.find((entry) => entry.code === code);
  }

  tokensOf(athleteId: string): string[] {
    return this.spent.filter((entry) => entry.athleteId === athleteId).map(({ accessToken }) => accessToken);
  }
}

export interface Guard {
  readonly name: string;
  readonly protects: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly spec: string;
  readonly title: string;
}
export const GUARDS: readonly Guard[];
export function tableOf(guards: readonly Guard[]): string;

import { type StatePart } from '../core/index.js';

/** A user that the app has registered. Data uploaded before `atMs` is never visible to the app. */
export interface Registration {
  readonly athleteId: string;
  readonly memberId: string;
  readonly atMs: number;
}

interface SavedRegistrations {
  readonly users: readonly Registration[];
  readonly withoutConsents: readonly string[];
  readonly counted: { readonly users: number; readonly atMs: number };
}

/** The users of the app, and the number of users that its limits are based on. */
export class Registrations implements StatePart<SavedRegistrations> {
  private readonly users = new Map<string, Registration>();
  private readonly withoutConsents = new Set<string>();
  private counted = { users: 0, atMs: -Infinity };

  constructor(
    private readonly now: () => number,
    private readonly countedEveryMs: () => number,
  ) {}

  clear(): void {
    this.users.clear();
    this.withoutConsents.clear();
    this.counted = { users: 0, atMs: -Infinity };
  }

  save(): SavedRegistrations {
    const counted = { ...this.counted, atMs: Math.max(0, this.counted.atMs) };
    return { users: [...this.users.values()], withoutConsents: [...this.withoutConsents], counted };
  }

  restore({ users, withoutConsents, counted }: SavedRegistrations): void {
    for (const user of users) this.users.set(user.athleteId, user);
    for (const athleteId of withoutConsents) this.withoutConsents.add(athleteId);
    this.counted = counted;
  }

  of(athleteId: string): Registration | undefined {
    return this.users.get(athleteId);
  }

  ofMember(memberId: string): Registration | undefined {
    return [...this.users.values()].find((user) => user.memberId === memberId);
  }

  add(athleteId: string, memberId: string): Registration {
    const user = { athleteId, memberId, atMs: this.now() };
    this.users.set(athleteId, user);
    return user;
  }

  remove(athleteId: string): boolean {
    return this.users.delete(athleteId);
  }

  lacksConsents(athleteId: string): boolean {
    return this.withoutConsents.has(athleteId);
  }

  setConsents(athleteId: string, areGiven: boolean): void {
    if (areGiven) this.withoutConsents.delete(athleteId);
    else this.withoutConsents.add(athleteId);
  }

  /** The number of users as last counted; Polar counts once a day. */
  counts(): number {
    if (this.now() - this.counted.atMs >= this.countedEveryMs()) {
      this.counted = { users: this.users.size, atMs: this.now() };
    }
    return this.counted.users;
  }
}

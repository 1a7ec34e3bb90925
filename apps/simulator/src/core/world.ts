import { type AthleteProfile, createAthleteProfile } from '#training-world';
import { type StatePart } from './memory.js';
import { FIRST_IDS, type Vendor, VENDORS } from './vendors.js';

export interface Athlete {
  readonly vendor: Vendor;
  /** Any text for Oura, digits for the others. */
  readonly id: string;
  readonly seed: number;
  /** Body, home and training habits, which follow from the seed. */
  readonly profile: AthleteProfile;
  readonly firstname: string;
  readonly lastname: string;
  readonly createdAtMs: number;
}

interface NewAthlete {
  readonly id?: string;
  readonly seed?: number;
}

interface SavedWorld {
  readonly athletes: readonly Pick<Athlete, 'vendor' | 'id' | 'seed' | 'createdAtMs'>[];
  readonly nextIds: readonly (readonly [Vendor, string])[];
  readonly nextSeed: number;
}

/**
 * The athletes of all vendors. Each vendor keeps its own activities or nights. It passes a callback to `onReset` that
 * clears them.
 */
export class World implements StatePart<SavedWorld> {
  private readonly athletes = new Map<Vendor, Map<string, Athlete>>();
  private readonly emptiers: (() => void)[] = [];
  private readonly nextIds = new Map<Vendor, bigint>();
  private nextSeed = 1;

  constructor(private readonly nowMs: () => number) {
    this.empty();
  }

  onReset(empty: () => void): void {
    this.emptiers.push(empty);
  }

  reset(): void {
    this.empty();
    this.emptiers.forEach((empty) => empty());
  }

  addAthlete(vendor: Vendor, { id = this.nextId(vendor), seed = this.nextSeed++ }: NewAthlete = {}): Athlete {
    return this.put({ vendor, id, seed, createdAtMs: this.nowMs() });
  }

  save(): SavedWorld {
    const athletes = VENDORS.flatMap((vendor) => this.athletesOf(vendor));
    return {
      athletes: athletes.map(({ vendor, id, seed, createdAtMs }) => ({ vendor, id, seed, createdAtMs })),
      nextIds: [...this.nextIds].map(([vendor, id]) => [vendor, String(id)]),
      nextSeed: this.nextSeed,
    };
  }

  restore({ athletes, nextIds, nextSeed }: SavedWorld): void {
    athletes.forEach((athlete) => this.put(athlete));
    for (const [vendor, id] of nextIds) this.nextIds.set(vendor, BigInt(id));
    this.nextSeed = nextSeed;
  }

  athlete(vendor: Vendor, id: string): Athlete | undefined {
    return this.of(vendor).get(id);
  }

  athletesOf(vendor: Vendor): Athlete[] {
    return [...this.of(vendor).values()];
  }

  /** The athlete with this id at the first vendor that knows the id. Control routes without a vendor use this. */
  findAthlete(id: string): Athlete | undefined {
    return VENDORS.map((vendor) => this.athlete(vendor, id)).find((athlete) => athlete !== undefined);
  }

  private put(known: SavedWorld['athletes'][number]): Athlete {
    const profile = createAthleteProfile(known.seed, { id: known.id });
    const athlete = { ...known, profile, firstname: profile.firstName, lastname: profile.lastName };
    this.of(known.vendor).set(known.id, athlete);
    return athlete;
  }

  private of(vendor: Vendor): Map<string, Athlete> {
    return this.athletes.get(vendor)!;
  }

  private nextId(vendor: Vendor): string {
    const id = this.nextIds.get(vendor)!;
    this.nextIds.set(vendor, id + 1n);
    const text = vendor === 'oura' ? `u-${id.toString().padStart(3, '0')}` : id.toString();
    return this.of(vendor).has(text) ? this.nextId(vendor) : text;
  }

  private empty(): void {
    this.nextSeed = 1;
    for (const vendor of VENDORS) {
      this.athletes.set(vendor, new Map());
      this.nextIds.set(vendor, FIRST_IDS[vendor]);
    }
  }
}

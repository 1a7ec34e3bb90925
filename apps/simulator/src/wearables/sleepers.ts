import { type AthleteProfile, createAthleteProfile, createNights, type Night } from '../athletes/index.js';
import { type Athlete, type Core, type Part, type Vendor } from '../core/index.js';
import { startOfToday } from './plan-night.js';

const SANDBOX_SEED = 20_260;
const ORDERED_SEED_STEP = 7_919;

interface SavedSleepers {
  readonly pastNights: readonly (readonly [string, number])[];
  readonly ordered: readonly (readonly [string, number])[];
}

/** The people of one vendor, with the traits and the past their seed gives them. */
export class Sleepers implements Part<SavedSleepers> {
  private readonly profiles = new Map<string, AthleteProfile>();
  /** How many nights an athlete looks back on, and how many were ordered since. */
  private readonly pastNights = new Map<string, number>();
  private readonly ordered = new Map<string, number>();

  constructor(
    private readonly core: Core,
    private readonly vendor: Vendor,
  ) {
    core.world.onReset(() => {
      this.profiles.clear();
      this.pastNights.clear();
      this.ordered.clear();
    });
    core.memory.keep(`${vendor} sleepers`, this);
  }

  save(): SavedSleepers {
    return { pastNights: [...this.pastNights], ordered: [...this.ordered] };
  }

  restore({ pastNights, ordered }: SavedSleepers): void {
    for (const [id, count] of pastNights) this.pastNights.set(id, count);
    for (const [id, count] of ordered) this.ordered.set(id, count);
  }

  add({ nights, ...order }: { nights: number; id?: string; seed?: number }): Athlete {
    const athlete = this.core.world.addAthlete(this.vendor, order);
    this.pastNights.set(athlete.id, nights);
    return athlete;
  }

  all(): Athlete[] {
    return this.core.world.athletesOf(this.vendor);
  }

  find(id: string): Athlete | undefined {
    return this.core.world.athlete(this.vendor, id);
  }

  profileOf({ id, seed }: Athlete): AthleteProfile {
    let profile = this.profiles.get(id);
    if (!profile) {
      profile = createAthleteProfile(seed, { id });
      this.profiles.set(id, profile);
    }
    return profile;
  }

  /** Naps among them, the newest ending before the day of the athlete's creation began. */
  pastOf(athlete: Athlete): Night[] {
    const count = this.pastNights.get(athlete.id) ?? 0;
    const profile = this.profileOf(athlete);
    const endsAtMs = startOfToday(profile, athlete.createdAtMs);
    return count > 0 ? createNights({ seed: athlete.seed, count, endsAtMs, athlete: profile }) : [];
  }

  /** Each ordered night of an athlete has a seed of its own, the same in every run. */
  nextNightSeed({ id, seed }: Athlete): number {
    const number = (this.ordered.get(id) ?? 0) + 1;
    this.ordered.set(id, number);
    return (seed * ORDERED_SEED_STEP + number) % 2 ** 32;
  }
}

/** Somebody who exists in no world: the vendor's example user. */
export function sandboxNights(count: number, nowMs: number): Night[] {
  const athlete = createAthleteProfile(SANDBOX_SEED);
  return createNights({ seed: SANDBOX_SEED, count, endsAtMs: startOfToday(athlete, nowMs), athlete });
}

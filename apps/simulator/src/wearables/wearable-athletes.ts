import { type AthleteProfile, createAthleteProfile, createNights, type Night } from '#training-world';
import { type Athlete, type Core, type StatePart, type Vendor } from '../core/index.js';
import { startOfToday } from './plan-night.js';

const SANDBOX_SEED = 20_260;
const ORDERED_SEED_STEP = 7_919;

interface SavedAthletes {
  readonly pastNights: readonly (readonly [string, number])[];
  readonly ordered: readonly (readonly [string, number])[];
}

/** The athletes of Oura or WHOOP. The profile and the past nights of an athlete follow from the seed. */
export class WearableAthletes implements StatePart<SavedAthletes> {
  private readonly profiles = new Map<string, AthleteProfile>();
  /** Number of past nights by athlete. `ordered` has the number of ordered nights by athlete. */
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

  save(): SavedAthletes {
    return { pastNights: [...this.pastNights], ordered: [...this.ordered] };
  }

  restore({ pastNights, ordered }: SavedAthletes): void {
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

  /** Past nights, naps included. The newest ends before the day of the athlete's creation. */
  pastOf(athlete: Athlete): Night[] {
    const count = this.pastNights.get(athlete.id) ?? 0;
    const profile = this.profileOf(athlete);
    const endsAtMs = startOfToday(profile, athlete.createdAtMs);
    return count > 0 ? createNights({ seed: athlete.seed, count, endsAtMs, athlete: profile }) : [];
  }

  /** Each ordered night of an athlete has another seed. The seeds are the same in every run. */
  nextNightSeed({ id, seed }: Athlete): number {
    const number = (this.ordered.get(id) ?? 0) + 1;
    this.ordered.set(id, number);
    return (seed * ORDERED_SEED_STEP + number) % 2 ** 32;
  }
}

/** Nights of the vendor's example user, who is not among the athletes of `World`. */
export function sandboxNights(count: number, nowMs: number): Night[] {
  const athlete = createAthleteProfile(SANDBOX_SEED);
  return createNights({ seed: SANDBOX_SEED, count, endsAtMs: startOfToday(athlete, nowMs), athlete });
}

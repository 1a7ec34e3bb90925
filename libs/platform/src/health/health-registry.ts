/** Passes, or throws what is wrong. */
export type Probe = () => Promise<void> | void;

/** Who can say whether this process is able to work: each dependency and each consumer registers itself. */
export class HealthRegistry {
  private readonly probes = new Map<string, Probe>();
  private draining = false;

  register(name: string, probe: Probe): void {
    this.probes.set(name, probe);
  }

  all(): ReadonlyMap<string, Probe> {
    return this.probes;
  }

  /** From now on not ready: whoever routes to us should stop before we close. */
  drain(): void {
    this.draining = true;
  }

  isDraining(): boolean {
    return this.draining;
  }
}

import { Counter, Gauge } from 'prom-client';
import { startAtZero } from '../metrics/start-at-zero.js';

const readiness = new Gauge({
  name: 'readiness_up',
  help: 'Result of the last readiness check: 1 if the dependency or consumer answered',
  labelNames: ['check'],
});

const readinessChanges = new Counter({
  name: 'readiness_changes_total',
  help: 'Readiness checks with another result than the check before',
  labelNames: ['check'],
});

/** Throws if the dependency or consumer does not work. `/health/ready` shows the message of the error. */
export type Probe = () => Promise<void> | void;

/** The readiness probes of this process. Each dependency and each consumer registers its own. */
export class HealthRegistry {
  private readonly probes = new Map<string, Probe>();
  private readonly lastResults = new Map<string, boolean>();
  private draining = false;

  register(name: string, probe: Probe): void {
    this.probes.set(name, probe);
    startAtZero(readinessChanges, [{ check: name }]);
  }

  all(): ReadonlyMap<string, Probe> {
    return this.probes;
  }

  /** Shows the result of a probe in the metrics. */
  note(check: string, isUp: boolean): void {
    readiness.set({ check }, Number(isUp));
    const last = this.lastResults.get(check);
    if (last !== undefined && last !== isUp) readinessChanges.inc({ check });
    this.lastResults.set(check, isUp);
  }

  /** From now on `/health/ready` answers 503, so that load balancers stop sending requests before the process closes its port. */
  drain(): void {
    this.draining = true;
  }

  isDraining(): boolean {
    return this.draining;
  }
}

import { Counter, Gauge } from 'prom-client';
import { type Cause } from '../causes.js';

/** What came of asking for a place. A feature adds what it refuses before it asks. */
export type GateDecision =
  'admitted' | 'rotated' | Extract<Cause, 'capacity_busy' | 'policy_blocked' | 'redis_unavailable'>;

const decisions = new Counter({
  name: 'gate_decisions_total',
  help: 'Sessions that asked for a place, by what they were told',
  labelNames: ['cause'],
});

export const gateDecisions = {
  inc: ({ cause }: { readonly cause: GateDecision }): void => decisions.inc({ cause }),
};

interface Observed {
  sessions(): Promise<number>;
}

let observed: Observed | undefined;

/** From now on a scrape asks that gate. Roles that share a process share its registry. */
export function observeGate(gate: Observed): void {
  observed = gate;
}

new Gauge({
  name: 'gate_sessions',
  help: 'Sessions that have a place',
  async collect() {
    // What cannot be asked is left out: an old number would look like a new one.
    const sessions = await observed?.sessions().catch(() => undefined);
    if (sessions === undefined) this.remove();
    else this.set(sessions);
  },
});

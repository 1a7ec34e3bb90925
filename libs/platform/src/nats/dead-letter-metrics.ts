import { Gauge } from 'prom-client';

type CountByReason = () => Promise<ReadonlyMap<string, number> | undefined>;

let count: CountByReason | undefined;

new Gauge({
  name: 'dlq_messages',
  help: 'Dead letters in AA_DLQ by reason',
  labelNames: ['reason'],
  async collect() {
    // What cannot be asked is left out: an old number would look like a new one.
    this.reset();
    for (const [reason, number] of (await count?.()) ?? []) this.set({ reason }, number);
  },
});

/** From now on a scrape asks there. */
export function observeDeadLetters(countByReason: CountByReason): void {
  count = countByReason;
}

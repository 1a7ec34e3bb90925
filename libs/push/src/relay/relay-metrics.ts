import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { Database, LOGGER, type Logger, prepared, startAtZero } from '#platform';

export const published = new Counter({
  name: 'changes_published_total',
  help: 'Changes published to NATS, by whether the stream confirmed them',
  labelNames: ['status'],
});
startAtZero(published, [{ status: 'success' }, { status: 'error' }]);

interface Backlog {
  readonly waiting: number;
  readonly seconds: number;
}

let latest: () => Promise<Backlog | undefined> = () => Promise.resolve(undefined);

const waitingGauge = new Gauge({
  name: 'changes_waiting',
  help: 'Committed changes that are not in NATS yet; at most 10,000 of those without a place in the log are counted',
  async collect() {
    const backlog = await latest();
    set(waitingGauge, backlog?.waiting);
    set(ageGauge, backlog?.seconds);
  },
});
const ageGauge = new Gauge({
  name: 'changes_oldest_waiting_seconds',
  help: 'Age of the oldest change that is not in NATS yet; 0 if none waits',
});

function set(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove();
  else gauge.set(value);
}

const backlogOf = prepared(
  'backlog of changes',
  `
    select
      (
        (select last_seq from change_feed) - published_seq
        + (select count(*) from (select from change_outbox limit 10000) as counted)
      )::int as waiting,
      coalesce(extract(epoch from clock_timestamp() - least(
        (select occurred_at from change where seq = published_seq + 1),
        (select occurred_at from change_outbox order by revision limit 1)
      )), 0)::float8 as seconds
    from change_relay`,
);

/** Reads the backlog when a worker is scraped. */
@Injectable()
export class RelayGauges implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    latest = async () => {
      try {
        return (await this.database.query<Backlog>(backlogOf)).rows[0];
      } catch (err) {
        this.logger.warn({ err }, 'the backlog of changes cannot be read');
        return undefined;
      }
    };
  }
}

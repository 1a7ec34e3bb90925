import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Database, LOGGER, type Logger, OneAtATime, prepared } from '#platform';
import { vendorsWith } from '#vendors';

const MOST_COUNTED = 10_000;

interface Inbox {
  readonly vendor: string;
  readonly waiting: number;
  readonly overdue_s: number;
}

let latest: () => Promise<readonly Inbox[]> = () => Promise.resolve([]);
const reading = new OneAtATime<void>();
const readBoth = () => reading.run('inboxes', readInboxes);

const waiting = new Gauge({
  name: 'webhook_inbox_waiting',
  help: 'Stored webhook events that are not handled yet, 10,000 at most',
  labelNames: ['vendor'],
  collect: readBoth,
});
const overdue = new Gauge({
  name: 'webhook_inbox_overdue_seconds',
  help: 'Time for which due webhook events have waited for a worker; 0 if none waits',
  labelNames: ['vendor'],
  collect: readBoth,
});

async function readInboxes(): Promise<void> {
  const inboxes = await latest();
  // Absent while Postgres is away: an old number would look like a new one.
  waiting.reset();
  overdue.reset();
  for (const { vendor, waiting: events, overdue_s: seconds } of inboxes) {
    waiting.set({ vendor }, events);
    overdue.set({ vendor }, seconds);
  }
}

// Each number comes from one index. Events that wait for their retry or for a permit are not overdue, since their owner's turn is later.
const inboxes = prepared(
  'webhook inboxes',
  `
    select
      vendor,
      (
        select count(*)::int
        from (
          select from webhook_event
          where webhook_event.vendor = vendors.vendor and processed_at is null
          limit ${MOST_COUNTED}
        ) as counted
      ) as waiting,
      coalesce(extract(epoch from now() - (
        select turn_at
        from webhook_owner
        where webhook_owner.vendor = vendors.vendor and turn_at <= now() and is_free(leased_until)
        order by turn_at
        limit 1
      )), 0)::float8 as overdue_s
    from unnest($1::text[]) as vendors (vendor)`,
);

/** Reads the lag of the inboxes when a worker is scraped. */
@Injectable()
export class InboxGauges implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    latest = async () => {
      try {
        return (await this.database.query<Inbox>(inboxes, [vendorsWith('webhook')])).rows;
      } catch (err) {
        this.logger.warn({ err }, 'the webhook inboxes cannot be read');
        return [];
      }
    };
  }
}

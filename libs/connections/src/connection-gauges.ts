import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Database, LOGGER, type Logger, OneAtATime } from '#platform';
import { VENDOR_IDS } from '#vendors';

// Tokens live for months, and a person needs days to connect again: a scrape needs no newer counts.
const KNOWN_FOR_MS = 60_000;
const AHEAD_DAYS = 30;

interface Counts {
  readonly provider: string;
  readonly ending: number;
  readonly needing_reauth: number;
}

let latest: () => Promise<readonly Counts[]> = () => Promise.resolve([]);

new Gauge({
  name: 'oauth_tokens_ending',
  help: 'Connections whose token ends within 30 days and cannot be renewed: the athlete has to connect again',
  labelNames: ['provider'],
  async collect() {
    this.reset();
    for (const { provider, ending } of await latest()) this.set({ provider }, ending);
  },
});

new Gauge({
  name: 'oauth_connections_needing_reauth',
  help: 'Connections whose grant the vendor has ended: the athlete has to connect again',
  labelNames: ['provider'],
  async collect() {
    this.reset();
    for (const { provider, needing_reauth } of await latest()) this.set({ provider }, needing_reauth);
  },
});

/** Counts connections for the gauges when a process is scraped, at most once a minute. */
@Injectable()
export class ConnectionGauges implements OnApplicationBootstrap {
  private known: { readonly untilMs: number; readonly counts: readonly Counts[] } | undefined;
  private readonly counting = new OneAtATime<readonly Counts[]>();

  constructor(
    private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    latest = () => this.counting.run('count', () => this.counts());
  }

  private async counts(): Promise<readonly Counts[]> {
    if (this.known && performance.now() < this.known.untilMs) return this.known.counts;
    try {
      const statement = `
        select
          provider,
          count(*) filter (where status = 'active')::int as ending,
          count(*) filter (where status = 'needs_reauth')::int as needing_reauth
        from connection
        where status = 'needs_reauth'
          or (refresh_token is null and expires_at < now() + $1 * interval '1 day')
        group by provider`;
      const { rows } = await this.database.query<Counts>(statement, [AHEAD_DAYS]);
      const none = VENDOR_IDS.map((provider) => ({ provider, ending: 0, needing_reauth: 0 }));
      const counts = none.map((empty) => rows.find(({ provider }) => provider === empty.provider) ?? empty);
      this.known = { counts, untilMs: performance.now() + KNOWN_FOR_MS };
      return counts;
    } catch (err) {
      this.logger.warn({ err }, 'connections not counted');
      return [];
    }
  }
}

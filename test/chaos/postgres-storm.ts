import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Pool } from 'pg';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { NatsServer } from '../harness/nats-server.js';
import { ProductProcess } from '../harness/process.js';
import { queryPool } from '../harness/query-pool.js';
import { type ImportBody, World } from '../harness/world.js';
import { EventReader, FeedReader } from './change-readers.js';
import { committedIds, judge, logOf, openLedger, type Verdict } from './ledger.js';
import { Counter, Reader, Sleeper } from './postgres-clients.js';
import { type Fault, PostgresPair, type Route } from './postgres-pair.js';

const INGEST_KEY = 'a-key-of-the-storm-0123456789';
const WORKERS = 3;
// A vendor's day has 24 minutes, its quarter of an hour 15 s.
const TIME_SCALE = 60;
const ACTIVITIES = 40;
// With the vendor's own limits, a history of 40 activities would take minutes, and nothing would be under way at a fault.
const LIMITS = { read_15min: 300, read_day: 20_000, overall_15min: 600, overall_day: 40_000 };
const DEADLINE_MS = 300_000;
const AFTER_FAULT_MS = 60_000;

interface Imported {
  readonly athlete: string;
  readonly vendorId: string;
}

/** How long nothing was acknowledged around a fault, in seconds. */
export interface Stall {
  readonly writes: number;
  readonly reads: number;
  readonly nights: number;
}

type Counts = Readonly<Record<string, number>>;

/** Two apis and three workers on a pair of Postgres servers, with imports, streams, nights and readers of the changes under way. */
export class PostgresStorm {
  private readonly imported: Imported[] = [];
  private readonly counters: Counter[] = [];
  private readonly feeds: FeedReader[] = [];
  private readonly streams: EventReader[] = [];
  private readonly readers: Reader[] = [];
  private readonly sleepers: Sleeper[] = [];
  private key = '';

  private constructor(
    private readonly pair: PostgresPair,
    private readonly nats: NatsServer,
    private readonly world: World,
    private readonly second: ProductProcess,
  ) {}

  static async start(route: Route): Promise<PostgresStorm> {
    const pair = await PostgresPair.start(route);
    await onPrimary(pair, openLedger);
    const nats = await NatsServer.start();
    const own = {
      ...pair.urls,
      NATS_URL: nats.url,
      INGEST_API_KEYS: INGEST_KEY,
      WEBHOOKS_ALLOW_PRIVATE: '1',
    };
    const world = await World.start({
      timeScale: TIME_SCALE,
      workers: WORKERS,
      env: own,
      vendors: { SIMULATOR_REFRESH_GRACE_SECONDS: '21600' },
      databaseUrl: pair.urls.DATABASE_URL,
    });
    await world.control('POST', 'limits', { vendor: 'strava', ...LIMITS });
    const second = await ProductProcess.start('api', { ...world.env, PORT: String(await freePort()) });
    const storm = new PostgresStorm(pair, nats, world, second);
    await storm.begin();
    return storm;
  }

  /** Kills or freezes the primary in the middle of the load, promotes its standby, and waits until all is well again. */
  async failOver(fault: Fault): Promise<Stall> {
    await this.beginImport();
    await this.beginImport();
    await eventually('an import is under way', () => this.isStoring(), DEADLINE_MS);
    for (const client of this.clients) client.takeStallMs();
    await this.pair.failOver(fault);
    const before = this.clients.map(({ answered }) => answered);
    await eventually(
      'all clients are answered again',
      () => this.clients.every(({ answered }, index) => answered > (before[index] ?? 0) + 3),
      AFTER_FAULT_MS,
    );
    // The old primary comes back while all processes use the new one.
    this.pair.wake(fault);
    await pause(3_000);
    const longest = (clients: readonly { takeStallMs(): number }[]) =>
      Math.round(Math.max(...clients.map((client) => client.takeStallMs())) / 100) / 10;
    const stall = {
      writes: longest(this.counters),
      reads: longest(this.readers),
      nights: longest(this.sleepers),
    };
    await this.pair.rejoin();
    return stall;
  }

  /** Ends the load, waits until all work is done, and compares with the vendor and with the acknowledged writes. */
  async counts(): Promise<Counts> {
    for (const client of [...this.counters, ...this.readers, ...this.sleepers]) await client.stop();
    await onPrimary(this.pair, (pool) =>
      eventually('all work is done', async () => (await openWork(pool)) === 0, DEADLINE_MS),
    );
    const stats = await this.world.stravaStats();
    return {
      ...(await onPrimary(this.pair, (pool) => this.stored(pool))),
      'calls over a limit of the vendor': stats.over_limit,
      'calls made twice': stats.duplicate_requests,
      'processes that ended': this.ended(),
    };
  }

  async verdicts(): Promise<Verdict[]> {
    return onPrimary(this.pair, async (pool) => {
      const { size } = await committedIds(pool);
      const all = [...this.feeds, ...this.streams];
      await eventually(
        'the readers have all',
        () => all.every(({ arrivals }) => arrivals.length >= size),
        DEADLINE_MS,
      ).catch((error: Error) =>
        console.error(
          error.message,
          all.map(({ lastError }) => lastError),
        ),
      );
      for (const reader of all) await reader.stop();
      const committed = await committedIds(pool);
      const log = await logOf(pool);
      return [
        judge(
          'the log in Postgres',
          log.map((id) => ({ id, subject: id, revision: 1 })),
          committed,
        ),
        ...this.feeds.map(({ arrivals }) => judge('GET /v1/changes', arrivals, committed, log)),
        ...this.streams.map(({ arrivals }) => judge('GET /v1/events', arrivals, committed, log)),
      ];
    });
  }

  async stop(): Promise<void> {
    for (const client of [...this.clients, ...this.feeds, ...this.streams]) await client.stop();
    await this.second.stop();
    await this.world.stop();
    await this.pair.stop();
    await this.nats.stop();
  }

  private get clients() {
    return [...this.counters, ...this.readers, ...this.sleepers];
  }

  private get apis(): readonly string[] {
    return [this.world.api.url, this.second.url];
  }

  private async begin(): Promise<void> {
    this.key = await this.world.serviceKey('events');
    const headers = { authorization: `Bearer ${this.key}` };
    const answer = await fetch(`${this.apis[0]}/v1/changes?after=latest`, { headers });
    const { next_cursor } = (await answer.json()) as { next_cursor: string };
    this.feeds.push(new FeedReader(this.apis, await this.world.serviceKey('events')));
    this.streams.push(new EventReader(this.apis, await this.world.serviceKey('events'), next_cursor));
    await this.beginImport();
    const athletes = this.imported.map(({ athlete }) => athlete);
    for (const url of this.apis) {
      this.counters.push(await Counter.create(url, this.key));
      this.readers.push(new Reader(url, athletes));
      this.sleepers.push(new Sleeper(url, INGEST_KEY));
    }
    for (const client of [...this.clients, ...this.feeds, ...this.streams]) client.start();
  }

  /** Connects a person with a history and requests the import of it, again until the request is answered. */
  private async beginImport(): Promise<void> {
    const athlete = randomUUID();
    const vendorId = await this.world.vendorAthlete(ACTIVITIES);
    await this.world.connect(athlete, vendorId);
    await eventually('the import is requested', async () => {
      const { status } = await this.world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
      return status < 300;
    });
    this.imported.push({ athlete, vendorId });
  }

  private async isStoring(): Promise<boolean> {
    const { athlete } = this.imported.at(-1)!;
    const headers = { authorization: `Bearer ${await tokenFor(athlete)}` };
    const answer = await fetch(`${this.apis[1]}/v1/activities?limit=1`, { headers });
    return ((await answer.json()) as { items: readonly unknown[] }).items.length > 0;
  }

  private async stored(pool: Pool): Promise<Counts> {
    let [missing, invented, withoutStreams, doubleImports] = [0, 0, 0, 0];
    for (const { athlete } of this.imported) {
      const { rows } = await pool.query<{ id: string; has: boolean }>(
        `select external_activity_id as id, stream_fetch_status in ('success', 'unavailable') as has from activity
         where athlete_id = $1`,
        [athlete],
      );
      const known = await Promise.all(
        rows.map(({ id }) =>
          this.world.control('GET', `activities/${id}`).then(
            () => 1,
            () => 0,
          ),
        ),
      );
      const found: number = known.reduce<number>((sum, one) => sum + one, 0);
      missing += ACTIVITIES - found;
      invented += rows.length - found;
      withoutStreams += rows.filter(({ has }) => !has).length;
      const imports = "select from import_jobs where athlete_id = $1 and type = 'full'";
      doubleImports += ((await pool.query(imports, [athlete])).rowCount ?? 0) - 1;
    }
    return {
      'activities of the vendor': this.imported.length * ACTIVITIES,
      'activities that are missing': missing,
      'activities that the vendor does not know': invented,
      'activities without the outcome of their streams': withoutStreams,
      'imports beyond one for each request': doubleImports,
      'runs that succeeded twice': await rowsOf(
        pool,
        "select from runs where status = 'succeeded' group by job_id having count(*) > 1",
      ),
      'acknowledged nights': this.sleepers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0),
      'acknowledged nights that are missing': await this.missingNights(pool),
      'acknowledged counters': this.counters.reduce((sum, { answered }) => sum + answered, 0),
      'acknowledged counters that are lost': await this.lostCounters(pool),
    };
  }

  private async missingNights(pool: Pool): Promise<number> {
    let missing = 0;
    for (const { subject, acknowledged } of this.sleepers) {
      const { rows } = await pool.query<{ date: string }>(
        'select date::text as date from sleep_data where user_id = $1',
        [subject],
      );
      const stored = new Set(rows.map(({ date }) => date));
      missing += acknowledged.filter((date) => !stored.has(date)).length;
    }
    return missing;
  }

  private async lostCounters(pool: Pool): Promise<number> {
    const { rows } = await pool.query<{ id: string; description: string | null }>(
      'select id, description from webhook_endpoint',
    );
    const descriptions = new Map(rows.map(({ id, description }) => [id, description]));
    return this.counters.filter((counter) => counter.isLost(descriptions.get(counter.id) ?? null)).length;
  }

  private ended(): number {
    const processes = [this.world.api, this.second, ...this.world.workers];
    return processes.filter((process) => process.hasEnded).length;
  }
}

async function onPrimary<T>(pair: PostgresPair, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = queryPool(pair.url);
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

const rowsOf = async (pool: Pool, statement: string) => (await pool.query(statement)).rowCount ?? 0;

/** Imports, streams, jobs and changes that are still under way. */
async function openWork(pool: Pool): Promise<number> {
  const statements = [
    "select from import_jobs where status not in ('completed', 'failed', 'cancelled')",
    "select from activity where stream_fetch_status in ('pending', 'fetching', 'deferred')",
    "select from jobs where status in ('queued', 'claimed', 'running', 'retry_wait')",
    'select from change_outbox',
  ];
  let open = 0;
  for (const statement of statements) open += await rowsOf(pool, statement);
  return open;
}

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createLogger, migrateUp, subscribeToWakeUps, timeScale, wakeUpPublisher } from '#platform';
import { budgetConnection, Ledger, VendorBudget } from '#rate-limit';
import { VENDORS } from '#vendors';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { EPISODE, streamPath } from '../harness/playback.js';
import { ProductProcess } from '../harness/process.js';
import { openPool } from '../harness/test-database.js';
import { type ImportBody, World } from '../harness/world.js';
import { Pulse } from './pulse.js';
import { type Athlete, compareWithVendor } from './vendor-comparison.js';

const SCALE = 900;
const DAY_MS = 86_400_000 / SCALE;
const WORKERS = 3;
const ATHLETES = 5;
const ACTIVITIES = 700;
const SESSIONS = 10;
// A day's calls are used up before its end, so a count that a fail-over lost would lead to a call over the limit.
const LIMITS = { read_15min: 40, read_day: 1_500, overall_15min: 80, overall_day: 3_000 };
// Imports and backfills leave 5 % of a day to live calls.
const FULL = 0.94;
const ENOUGH = { read_15min: 5_000, read_day: 500_000, overall_15min: 10_000, overall_day: 1_000_000 };
// A fault begins while the day has calls left, so that a pause in the calls is a stall.
const LATEST_IN_DAY_MS = 30_000;
const AFTERWARDS_MS = 5_000;
const INGEST_KEY = 'an-ingest-key-for-chaos-7f3a';
const DEADLINE_MS = 300_000;
const CHANNEL = 'chaos';
// A wake-up without a subscriber is lost. The next one is sent after this time.
const LOST_AFTER_MS = 500;

export interface Fault {
  readonly name: string;
  /** Resolves when the servers are whole again. */
  readonly run: () => Promise<void>;
}

type Row = Readonly<Record<string, number>>;

/** Two apis, three workers and the simulator under load, and pulses that measure how long each feature stalls. */
export class RedisStorm {
  private readonly pulses: Pulse[];
  private readonly nights = new Set<string>();
  private readonly uploads = new Set<string>();
  private uploaded = 0;

  private constructor(
    private readonly world: World,
    private readonly apis: readonly ProductProcess[],
    private readonly athletes: readonly Athlete[],
    budget: VendorBudget,
    wakeUpArrives: () => Promise<boolean>,
    private readonly close: () => Promise<void>,
  ) {
    this.pulses = [
      new Pulse('permit', () => isDecided(budget)),
      new Pulse('wake-up', wakeUpArrives),
      ...apis.map((api, index) => new Pulse(`place (api ${index + 1})`, () => this.getsPlace(api))),
      new Pulse('stream read', () => this.readsStream()),
      new Pulse('night sent', () => this.sendsNight()),
      new Pulse('vendor call', this.countsCalls()),
      new Pulse('upload seen', () => this.uploadIsSeen()),
    ];
  }

  static async start(redisUrl: string): Promise<RedisStorm> {
    const databaseUrl = process.env.DATABASE_URL ?? '';
    await migrateUp(databaseUrl);
    const env = { REDIS_URL: redisUrl, INGEST_API_KEYS: INGEST_KEY };
    const world = await World.start({ timeScale: SCALE, workers: WORKERS, databaseUrl, env });
    const second = await ProductProcess.start('api', { ...world.env, PORT: String(await freePort()) });
    await world.control('POST', 'limits', { vendor: 'strava', ...LIMITS });
    const athletes: Athlete[] = [];
    for (let count = 0; count < ATHLETES; count += 1) athletes.push(await begin(world));
    const { database, close } = await openPool(databaseUrl);
    const logger = createLogger({ level: 'silent', process: 'chaos' });
    const config = { url: redisUrl, keyPrefix: world.env.REDIS_KEY_PREFIX ?? '' };
    const redis = budgetConnection(config, logger);
    const ledger = new Ledger(database, 'strava');
    const budget = new VendorBudget(VENDORS.strava.limits, redis, ledger, timeScale(SCALE), logger);
    let woken = 0;
    const subscription = subscribeToWakeUps(config, logger, [CHANNEL], () => (woken += 1));
    const publish = wakeUpPublisher(config, redis, logger);
    const wakeUpArrives = async () => {
      const before = woken;
      publish(CHANNEL);
      return eventually('the wake-up', () => woken > before, LOST_AFTER_MS);
    };
    const storm = new RedisStorm(world, [world.api, second], athletes, budget, wakeUpArrives, async () => {
      subscription.close();
      redis.disconnect();
      await close();
      await second.stop();
      await world.stop();
    });
    for (const pulse of storm.pulses) pulse.start();
    return storm;
  }

  /** Returns the longest stall of each feature in seconds, from the fault until all of them work again. */
  async stallsOf({ run }: Fault): Promise<Row> {
    await this.dayHasRoom();
    const beganMs = performance.now();
    await run();
    const healedMs = performance.now();
    await eventually(
      'all features work',
      () => this.pulses.every((pulse) => pulse.succeededSince(healedMs)),
      DEADLINE_MS,
    );
    await pause(AFTERWARDS_MS);
    return Object.fromEntries(this.pulses.map((pulse) => [pulse.name, pulse.longestStall(beganMs)]));
  }

  /** Ends the load, waits for all that is due, and compares it with the vendor's own data. */
  async verdict(): Promise<Row> {
    await Promise.all(this.pulses.map((pulse) => pulse.stop()));
    const [strava, day] = [await this.world.stravaStats(), LIMITS.read_day];
    const fullDays = strava.days.filter(({ used }) => (used.read_day ?? 0) >= FULL * day).length;
    await this.world.control('POST', 'limits', { vendor: 'strava', ...ENOUGH });
    const { world, athletes, nights, uploads } = this;
    const lost = await compareWithVendor(world, { athletes, nights, uploads });
    const after = await this.world.stravaStats();
    return {
      'calls at the vendor': after.total,
      'calls over a limit': after.over_limit,
      'answers 429': after.by_status['429'] ?? 0,
      'days whose limit was used up': fullDays,
      ...lost,
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.pulses.map((pulse) => pulse.stop()));
    await this.close();
  }

  private async dayHasRoom(): Promise<void> {
    const sinceMs = Date.now() % DAY_MS;
    if (sinceMs > LATEST_IN_DAY_MS) await pause(DAY_MS - sinceMs + 2_000);
  }

  private async getsPlace(api: ProductProcess): Promise<boolean> {
    const session = `session-${Math.floor(Math.random() * SESSIONS)}`;
    const answer = await fetch(`${api.url}/addon/${streamPath(session, EPISODE)}`);
    const { streams } = (await answer.json()) as { streams?: readonly unknown[] };
    return answer.ok && (streams?.length ?? 0) > 1;
  }

  private async readsStream(): Promise<boolean> {
    const { id } = pick(this.athletes);
    const [activity] = await this.world.rows<{ id: string }>(
      'select id from activity where athlete_id = $1 order by random() limit 1',
      [id],
    );
    if (!activity) return false;
    const headers = { authorization: `Bearer ${await tokenFor(id)}`, prefer: 'wait=1' };
    const answer = await fetch(`${pick(this.apis).url}/v1/activities/${activity.id}/streams`, { headers });
    await answer.arrayBuffer();
    return answer.status < 300;
  }

  private async sendsNight(): Promise<boolean> {
    const night = { userId: randomUUID(), date: '2026-01-02', durationMinutes: 420 };
    const answer = await fetch(`${pick(this.apis).url}/api/v1/ingest/sleep`, {
      method: 'POST',
      headers: { 'x-api-key': INGEST_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(night),
    });
    if (answer.status !== 200) return false;
    this.nights.add(((await answer.json()) as { eventId: string }).eventId);
    return true;
  }

  /** Succeeds if an import or a backfill has made another call since the last time. Their ticks and permits need Redis. */
  private countsCalls(): () => Promise<boolean> {
    let seen = 0;
    return async () => {
      const [row] = await this.world.rows<{ calls: number }>(
        "select count(*)::int as calls from strava_api_requests where class <> 'live' and status = 200",
      );
      const isNew = (row?.calls ?? 0) > seen;
      seen = row?.calls ?? 0;
      return isNew;
    };
  }

  /** Uploads an activity at the vendor and waits until its event has brought it here. */
  private async uploadIsSeen(): Promise<boolean> {
    const { id: athlete, vendorId } = this.athletes[(this.uploaded += 1) % ATHLETES] as Athlete;
    const { id } = await this.world.control<{ id: string }>('POST', 'activities', { athlete_id: vendorId });
    this.uploads.add(id);
    const seen = 'select 1 from activity where athlete_id = $1 and external_activity_id = $2';
    await eventually('the upload', async () => (await this.world.rows(seen, [athlete, id])).length > 0);
    await pause(500);
    return true;
  }
}

/** True if Redis has decided. A permit is given back. */
async function isDecided(budget: VendorBudget): Promise<boolean> {
  const outcome = await budget.requestPermit({ class: 'backfill', endpoint: 'streams', userId: null });
  if (outcome.kind === 'granted') await budget.giveBack(outcome.permit);
  return outcome.kind !== 'unavailable';
}

async function begin(world: World): Promise<Athlete> {
  const id = randomUUID();
  const vendorId = await world.vendorAthlete(ACTIVITIES, { manual_share: 0 });
  await world.connect(id, vendorId);
  await world.call<ImportBody>(id, 'POST', '/v1/imports', { type: 'full' });
  return { id, vendorId };
}

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T;

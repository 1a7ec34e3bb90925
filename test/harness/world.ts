import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { type Pool } from 'pg';
import { testEnvironment, tokenFor, type TestEnvironment } from './environment.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { ProductProcess } from './process.js';
import { queryPool } from './query-pool.js';
import { required } from './servers.js';
import { SimulatorProcess } from './simulator.js';

const OPERATOR = randomUUID();

export interface WorldOptions {
  readonly timeScale?: number;
  readonly workers?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** One that is migrated; without it a clone of the template. */
  readonly databaseUrl?: string;
}

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/** The product with its vendors: simulator, api and workers as processes of their own, on one database. */
export class World {
  readonly workers: ProductProcess[] = [];
  api: ProductProcess;
  private pool: Pool | undefined;

  private constructor(
    readonly environment: TestEnvironment,
    readonly env: Readonly<Record<string, string>>,
    readonly simulator: SimulatorProcess,
  ) {}

  static async start({
    timeScale = 900,
    workers = 1,
    env: own = {},
    databaseUrl,
  }: WorldOptions = {}): Promise<World> {
    const TIME_SCALE = String(timeScale);
    const simulator = await SimulatorProcess.start({ TIME_SCALE });
    const port = await freePort();
    const database = databaseUrl ? { url: databaseUrl, drop: () => Promise.resolve() } : undefined;
    const environment = await testEnvironment(
      {
        TIME_SCALE,
        PORT: String(port),
        PUBLIC_URL: `http://127.0.0.1:${port}`,
        ...simulator.env,
        ...own,
      },
      database,
    );
    const world = new World(environment, environment.env, simulator);
    try {
      world.api = await ProductProcess.start('api', environment.env);
      for (let count = 0; count < workers; count += 1) await world.startWorker();
      return world;
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  /** What the database says; it does not mind being asked often. */
  async rows<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    this.pool ??= queryPool(this.env.DATABASE_URL);
    return (await this.pool.query<Row>(text, values)).rows;
  }

  async startWorker(env: Readonly<Record<string, string>> = {}): Promise<ProductProcess> {
    const worker = await ProductProcess.start('worker', { ...this.env, ...env });
    this.workers.push(worker);
    return worker;
  }

  /** As kill -9 does it. */
  async kill(worker: ProductProcess): Promise<void> {
    worker.signal('SIGKILL');
    await worker.exited();
    this.workers.splice(this.workers.indexOf(worker), 1);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.workers, this.api].map((process) => process?.stop()));
    await this.simulator.stop();
    await this.pool?.end();
    await this.environment.release();
  }

  /** A call of the api as that athlete. */
  async call<T>(
    athlete: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer<T>> {
    const answer = await fetch(`${this.api.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${await tokenFor(athlete)}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: (text ? JSON.parse(text) : undefined) as T };
  }

  /** A call of the api as an operator. */
  async admin<T>(method: string, path: string): Promise<Answer<T>> {
    const token = await tokenFor(OPERATOR, { role: 'admin' });
    return this.call<T>(OPERATOR, method, `/admin/${path}`, undefined, { authorization: `Bearer ${token}` });
  }

  /** The athlete's job once it has that status. The database is asked meanwhile: the api counts requests. */
  async jobUntil(athlete: string, jobId: string, status: string, deadlineMs?: number): Promise<JobBody> {
    await eventually(
      `the job is ${status}`,
      async () => {
        const statement = 'select 1 from jobs where job_id = $1 and status = $2';
        return (await this.rows(statement, [jobId, status])).length > 0;
      },
      deadlineMs,
    );
    return (await this.call<JobBody>(athlete, 'GET', `/v1/jobs/${jobId}`)).body;
  }

  /** An activity's streams, waited for so many seconds. */
  async streams(athlete: string, activityId: string, waitS = 0): Promise<Answer<StreamBody>> {
    const prefer = { prefer: `wait=${waitS}` };
    return this.call(athlete, 'GET', `/v1/activities/${activityId}/streams`, undefined, prefer);
  }

  /** As a flush of this world's share of Redis: the others use it too. */
  async forgetRedis(): Promise<void> {
    const redis = new Redis(required('REDIS_URL'));
    const keys = await redis.keys(`${this.env.REDIS_KEY_PREFIX}*`);
    if (keys.length > 0) await redis.unlink(keys);
    redis.disconnect();
  }

  /** The simulator's control. */
  control<T>(method: string, path: string, body?: unknown): Promise<T> {
    return this.simulator.control<T>(method, `/${path}`, body);
  }

  /** Streams of a history would take of the same windows as what is looked at. */
  async withoutBackfill(): Promise<void> {
    await this.rows('update backfill_switch set is_paused = true');
  }

  async stravaStats(): Promise<StravaStats> {
    return (await this.control<{ strava: StravaStats }>('GET', 'stats')).strava;
  }

  /** A vendor-side athlete with a history; answers their id. */
  async vendorAthlete(activities: number, more: Record<string, unknown> = {}): Promise<string> {
    const made = await this.control<{ id: string }>('POST', 'athletes', {
      provider: 'strava',
      activities,
      ...more,
    });
    return made.id;
  }

  /** The whole way of a browser: authorize page, consent, callback. */
  async connect(athlete: string, vendorAthleteId: string, provider = 'strava'): Promise<void> {
    const { body } = await this.call<{ authorize_url: string }>(
      athlete,
      'POST',
      `/v1/connections/${provider}`,
      {},
    );
    const consent = await fetch(`${body.authorize_url}&athlete_id=${vendorAthleteId}`, {
      redirect: 'manual',
    });
    const callback = await fetch(consent.headers.get('location') ?? '', { redirect: 'manual' });
    if (callback.status !== 200) throw new Error(`callback: ${callback.status} ${await callback.text()}`);
  }

  /** Follows the import's events until it says so. */
  async importUntil(
    athlete: string,
    id: string,
    fits: (body: ImportBody) => boolean,
    deadlineMs = 150_000,
  ): Promise<ImportBody> {
    const answer = await fetch(`${this.api.url}/v1/imports/${id}/events`, {
      headers: { authorization: `Bearer ${await tokenFor(athlete)}` },
      signal: AbortSignal.timeout(deadlineMs),
    });
    if (!answer.body) throw new Error(`no events: ${answer.status}`);
    let last: ImportBody | undefined;
    try {
      for await (const event of eventsOf(answer.body)) {
        last = event as ImportBody;
        if (fits(last)) return last;
      }
    } catch (cause) {
      throw new Error(`the import got no further than ${JSON.stringify(last)}`, { cause });
    }
    throw new Error(`the import ended otherwise: ${JSON.stringify(last)}`);
  }
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  let text = '';
  for await (const bytes of body) {
    text += Buffer.from(bytes).toString();
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data) yield JSON.parse(data);
    }
  }
}

export interface ImportBody {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly activities_imported: number;
  readonly activities_total: number | null;
  readonly photos_imported: number;
  readonly retry_after: string | null;
  readonly eta: string | null;
  readonly message: string;
}

export interface StreamBody {
  readonly activity_id: string;
  readonly status: string;
  readonly stream_data: Readonly<Record<string, readonly unknown[]>> | null;
  readonly channels_available: readonly string[];
  readonly point_count: number;
  readonly source: string;
  readonly fetched_at: string | null;
  readonly error: string | null;
  readonly retry_at: string | null;
}

export interface StravaStats {
  readonly total: number;
  readonly by_endpoint: Readonly<Record<string, number>>;
  readonly by_status: Readonly<Record<string, number>>;
  readonly over_limit: number;
  readonly max_in_flight: number;
  readonly duplicate_requests: number;
  readonly windows: ReadonlyArray<{ readonly id: number; readonly used: Record<string, number> }>;
  readonly days: ReadonlyArray<{ readonly id: number; readonly used: Record<string, number> }>;
}

export interface ReceiptBody {
  readonly what: string;
  readonly reason: string;
  readonly status: string;
  readonly deleted: Readonly<Record<string, number>>;
}

export interface JobBody {
  readonly job_id: string;
  readonly activity_id: string;
  readonly request_kind: string;
  readonly status: string;
  readonly attempt_count: number;
  readonly last_error: string | null;
  readonly runs: ReadonlyArray<{
    readonly run_id: string;
    readonly status: string;
    readonly error: string | null;
  }>;
}

export interface StateBody {
  readonly state: string | null;
  readonly last_job_id: string | null;
  readonly last_run_id: string | null;
  readonly last_profile_id: string | null;
  readonly last_title: string | null;
  readonly last_description_hash: string | null;
  readonly last_result_status: string | null;
  readonly last_error: string | null;
  readonly result: {
    readonly title: string;
    readonly description: string;
    readonly repetitions: { readonly count: number } | null;
  } | null;
  readonly write_back: { readonly status: string; readonly reason: string | null } | null;
}

/** The workout behind an activity, as the simulator planned it. */
export interface Truth {
  readonly session: string;
  readonly profile: string;
  readonly repetitions: number;
}

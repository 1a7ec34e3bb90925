import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { type Pool } from 'pg';
import { assertValidAnswer } from './openapi-document.js';
import { JWT_SECRET, testEnvironment, tokenFor, type TestEnvironment } from './environment.js';
import { assertDocumentedCode } from './error-codes.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { NatsServer } from './nats-server.js';
import { ProductProcess } from './process.js';
import { queryPool } from './query-pool.js';
import { required } from './servers.js';
import { SimulatorProcess } from './simulator.js';
import { undoneOnFailure } from './undo.js';
import { processClock } from './process-clock.js';

const OPERATOR = randomUUID();
// The listing and the deletion are one script, so that no process makes a key in between.
const DELETE_KEYS = `for _, key in ipairs(redis.call('keys', ARGV[1])) do redis.call('unlink', key) end`;

interface WorldOptions {
  readonly timeScale?: number;
  readonly workers?: number;
  /** Further environment variables of the product. With NATS_URL, the world starts no NATS server of its own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further environment variables of the simulator. */
  readonly vendors?: Readonly<Record<string, string>>;
  /** The URL of a migrated database. By default the world has a clone of the template. */
  readonly databaseUrl?: string;
  /** How far the clocks of the product's processes and of the tokens' issuer are ahead. */
  readonly aheadMs?: number;
  /** The URL of a balancer in front of apis that the caller starts. Then the world starts none. */
  readonly address?: string;
}

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/**
 * The product with its vendors: simulator, api and workers as separate processes on one database. A world has a NATS server of its own,
 * because the workers of two worlds on one server would take each other's messages.
 */
export class World {
  readonly workers: ProductProcess[] = [];
  api: ProductProcess;
  private pool: Pool | undefined;

  private constructor(
    readonly environment: TestEnvironment,
    readonly env: Readonly<Record<string, string>>,
    readonly simulator: SimulatorProcess,
    private readonly nats: NatsServer | undefined,
    private readonly address: string | undefined,
    private readonly aheadMs: number,
  ) {}

  /** Where clients reach the api. */
  get url(): string {
    return this.address ?? this.api.url;
  }

  static start({
    timeScale = 900,
    workers = 1,
    env: own = {},
    vendors = {},
    databaseUrl,
    address,
    aheadMs = 0,
  }: WorldOptions = {}): Promise<World> {
    return undoneOnFailure(async (onFailure) => {
      const TIME_SCALE = String(timeScale);
      const simulator = await SimulatorProcess.start({ TIME_SCALE, ...vendors });
      onFailure(() => simulator.stop());
      const nats = own.NATS_URL ? undefined : await NatsServer.start();
      onFailure(async () => nats?.stop());
      const port = await freePort();
      const database = databaseUrl ? { url: databaseUrl, drop: () => Promise.resolve() } : undefined;
      const environment = await testEnvironment(
        {
          TIME_SCALE,
          PORT: String(port),
          PUBLIC_URL: address ?? `http://127.0.0.1:${port}`,
          ...simulator.env,
          ...(nats && { NATS_URL: nats.url }),
          ...processClock(aheadMs),
          ...own,
        },
        database,
      );
      onFailure(() => environment.release());
      const world = new World(environment, environment.env, simulator, nats, address, aheadMs);
      onFailure(() => world.stopProcesses());
      if (!address) world.api = await ProductProcess.start('api', environment.env);
      for (let count = 0; count < workers; count += 1) await world.startWorker();
      return world;
    });
  }

  /** Queries the database. Polls use it, because the api limits requests. */
  async rows<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    this.pool ??= queryPool(this.env.DATABASE_URL);
    return (await this.pool.query<Row>(text, values)).rows;
  }

  async startWorker(env: Readonly<Record<string, string>> = {}): Promise<ProductProcess> {
    const worker = await ProductProcess.start('worker', { ...this.env, ...env });
    this.workers.push(worker);
    return worker;
  }

  /** Kills a worker with SIGKILL and waits for its end. */
  async kill(worker: ProductProcess): Promise<void> {
    worker.signal('SIGKILL');
    await worker.exited();
    this.workers.splice(this.workers.indexOf(worker), 1);
  }

  async stop(): Promise<void> {
    await this.stopProcesses();
    await this.simulator.stop();
    await this.nats?.stop();
    await this.pool?.end();
    await this.environment.release();
  }

  private async stopProcesses(): Promise<void> {
    await Promise.all([...this.workers, this.api].map((process) => process?.stop()));
  }

  private tokenFor(subject: string, claims: Record<string, unknown> = {}): Promise<string> {
    return tokenFor(subject, claims, JWT_SECRET, Date.now() + this.aheadMs);
  }

  /** A call of the api as that athlete. */
  async call<T>(
    athlete: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer<T>> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${await this.tokenFor(athlete)}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    const read = (text ? JSON.parse(text) : undefined) as T;
    const { status } = answer;
    // Every test that uses a world also checks error codes against docs/errors.md and answers against docs/openapi.json.
    if (status >= 400) assertDocumentedCode(`${method} ${path}`, read);
    assertValidAnswer({ method, path, status, body: read });
    return { status, body: read };
  }

  /** A call of the api as an operator. */
  async admin<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const token = await this.tokenFor(OPERATOR, { role: 'admin' });
    return this.call<T>(OPERATOR, method, `/admin/${path}`, body, { authorization: `Bearer ${token}` });
  }

  /** A new service key, for calls with `Authorization: Bearer …`. */
  async serviceKey(...scopes: readonly string[]): Promise<string> {
    const authorization = `Bearer ${await this.tokenFor(OPERATOR, { role: 'admin' })}`;
    const body = { name: 'a test', scopes };
    return (await this.call<{ key: string }>(OPERATOR, 'POST', '/admin/keys', body, { authorization })).body
      .key;
  }

  /** Waits until the job has that status, then reads the job from the api. Polls the database, because the api limits requests. */
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

  /** Reads an activity's streams with `Prefer: wait`. */
  async streams(athlete: string, activityId: string, waitS = 0): Promise<Answer<StreamBody>> {
    const prefer = { prefer: `wait=${waitS}` };
    return this.call(athlete, 'GET', `/v1/activities/${activityId}/streams`, undefined, prefer);
  }

  /** Deletes all Redis keys of this world at once, as if Redis had restarted empty. Other test files use the same Redis. */
  async flushRedis(): Promise<void> {
    const redis = new Redis(required('REDIS_URL'));
    await redis.eval(DELETE_KEYS, 0, `${this.env.REDIS_KEY_PREFIX}*`);
    redis.disconnect();
  }

  /** Deletes the lists of a Bull queue and keeps its jobs, as an eviction or a partial restore may. */
  async loseLists(queue: string): Promise<void> {
    const redis = new Redis(required('REDIS_URL'));
    const lists = ['wait', 'active', 'paused', 'delayed'].map(
      (list) => `${this.env.REDIS_KEY_PREFIX}${queue}:${list}`,
    );
    await redis.unlink(...lists);
    redis.disconnect();
  }

  /** Writes a Bull job that stands in none of the queue's lists, as one whose place was lost. */
  async leaveLostJob(queue: string, id: string, data: object): Promise<void> {
    const redis = new Redis(required('REDIS_URL'));
    await redis.hset(`${this.env.REDIS_KEY_PREFIX}${queue}:${id}`, {
      ...{ name: '__default__', data: JSON.stringify(data), opts: '{}' },
      ...{ timestamp: Date.now(), delay: 0, priority: 0 },
    });
    redis.disconnect();
  }

  /** A call of the simulator's control routes. */
  control<T>(method: string, path: string, body?: unknown): Promise<T> {
    return this.simulator.control<T>(method, `/${path}`, body);
  }

  /** Pauses the backfill, because its calls would count against the windows that a test observes. */
  async pauseBackfill(): Promise<void> {
    await this.rows('update backfill_switch set is_paused = true');
  }

  stravaStats(): Promise<VendorStats> {
    return this.vendorStats('strava');
  }

  /** The simulator's own counts of a vendor. */
  async vendorStats(vendor: string): Promise<VendorStats> {
    const stats = (await this.control<Record<string, VendorStats>>('GET', 'stats'))[vendor];
    if (!stats) throw new Error(`the simulator has no vendor ${vendor}`);
    return stats;
  }

  /** Makes an athlete with a history at Strava and returns the athlete's id at Strava. */
  async vendorAthlete(activities: number, more: Record<string, unknown> = {}): Promise<string> {
    const made = await this.control<{ id: string }>('POST', 'athletes', {
      provider: 'strava',
      activities,
      ...more,
    });
    return made.id;
  }

  /**
   * Connects an athlete as an app without a browser does: authorize page, consent, callback, confirmation. `choice`: further fields of the
   * consent page.
   */
  async connect(
    athlete: string,
    vendorAthleteId: string,
    provider = 'strava',
    choice: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const path = `/v1/connections/${provider}`;
    const { body } = await this.posted<{ authorize_url: string }>(athlete, path, {});
    const consented = { athlete_id: vendorAthleteId, ...choice };
    const callback = await fetch(await this.simulator.consent(body.authorize_url, consented), {
      redirect: 'manual',
      headers: { accept: 'application/json' },
    });
    if (callback.status !== 200) throw new Error(`callback: ${callback.status} ${await callback.text()}`);
    const { confirm } = (await callback.json()) as { confirm: string };
    // Near the boundary of a window the budget allows no call. The answer is 503 then, and the confirmation stays valid.
    await this.posted(athlete, `${path}/confirm`, { confirm });
  }

  /** Sends a request again after each 503. Throws after another refusal. */
  private async posted<Body>(athlete: string, path: string, sent: object): Promise<{ readonly body: Body }> {
    const answer = await eventually(`an answer to POST ${path}`, async () => {
      const { status, body } = await this.call<Body>(athlete, 'POST', path, sent);
      return status === 503 ? undefined : { status, body };
    });
    if (answer.status >= 300)
      throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  /** Reads the import's events until an event fits. If the stream ends before, this throws with the last event. */
  async importUntil(
    athlete: string,
    id: string,
    fits: (body: ImportBody) => boolean,
    deadlineMs = 150_000,
  ): Promise<ImportBody> {
    const answer = await fetch(`${this.api.url}/v1/imports/${id}/events`, {
      headers: { authorization: `Bearer ${await this.tokenFor(athlete)}` },
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
      throw new Error(`the last event of the import was ${JSON.stringify(last)}`, { cause });
    }
    throw new Error(`the import ended without the expected event: ${JSON.stringify(last)}`);
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

interface VendorWindow {
  readonly id: number;
  readonly used: Record<string, number>;
  readonly over_limit: number;
}

interface VendorStats {
  readonly total: number;
  readonly by_endpoint: Readonly<Record<string, number>>;
  readonly by_status: Readonly<Record<string, number>>;
  readonly over_limit: number;
  readonly max_in_flight: number;
  readonly duplicate_requests: number;
  readonly faults_injected: number;
  readonly windows: readonly VendorWindow[];
  readonly days: readonly VendorWindow[];
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
  readonly waits_for: string | null;
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
  readonly waits_for: string | null;
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

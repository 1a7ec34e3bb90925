import { randomUUID } from 'node:crypto';
import { request } from 'undici';
import { createLogger, type Database, loadConfig, type Logger, timeScale } from '#platform';
import { JWT_SECRET } from '../../../test/harness/environment.js';
import { SimulatorProcess } from '../../../test/harness/simulator.js';
import { createTestDatabase, openPool } from '../../../test/harness/test-database.js';
import { type ConnectOutcome } from './connect/connect-outcome.js';
import { type ConnectionsParts, createConnections } from './create-connections.js';
import { type ConnectionListener } from './listeners.js';
import { type Http, type HttpRequest } from './oauth/http.js';
import { type Provider } from './oauth/provider.js';
import { type RenewalTimes } from './refresh/renewal.js';

export const plainHttp: Http = {
  async call({ method, url, headers, body, signal }: HttpRequest) {
    const answer = await request(url, { method, headers: { ...headers }, body, signal });
    return {
      kind: 'answered',
      answer: {
        status: answer.statusCode,
        headers: {},
        body: Buffer.from(await answer.body.arrayBuffer()),
      },
    };
  },
};

export interface Worker extends ConnectionsParts {
  readonly database: Database;
}

interface WorkerOptions {
  readonly http?: Http;
  readonly times?: Partial<RenewalTimes>;
  readonly env?: Readonly<Record<string, string>>;
  readonly listeners?: readonly ConnectionListener[];
  readonly logger?: Logger;
}

/** A database, the vendors, and as many workers as a test likes, each with a pool of its own. */
export class ConnectionsHarness {
  private readonly pools: Array<{ close(): Promise<void> }> = [];

  private constructor(
    readonly simulator: SimulatorProcess,
    readonly env: Record<string, string>,
    private readonly drop: () => Promise<void>,
  ) {}

  static async open(simulatorEnv: Readonly<Record<string, string>> = {}): Promise<ConnectionsHarness> {
    const [made, simulator] = await Promise.all([createTestDatabase(), SimulatorProcess.start(simulatorEnv)]);
    const env = {
      DATABASE_URL: made.url,
      REDIS_URL: 'redis://unused',
      NATS_URL: 'nats://unused',
      JWT_SECRET,
      ENCRYPTION_KEYS: keys(1),
      PUBLIC_URL: 'https://pacekeeper.example',
      RETURN_URLS: 'https://app.example/settings',
      ...simulator.env,
    };
    return new ConnectionsHarness(simulator, env, () => made.drop());
  }

  async worker({ http = plainHttp, times, env, listeners, logger }: WorkerOptions = {}): Promise<Worker> {
    const config = loadConfig({ ...this.env, ...env });
    const pool = await openPool(config.database.url, [], { poolSize: 2 });
    this.pools.push(pool);
    const { database } = pool;
    const parts = createConnections({
      config,
      database,
      http,
      timeScale: timeScale(config.timeScale),
      logger: logger ?? createLogger({ level: 'silent', process: 'test' }),
      times: { cooldownMs: 1, ...times },
      listeners: () => listeners ?? [],
    });
    return { database, ...parts };
  }

  async close(): Promise<void> {
    await Promise.all(this.pools.map((pool) => pool.close()));
    await this.simulator.stop();
    await this.drop();
  }
}

export function keys(...versions: number[]): string {
  return versions.map((version) => `${version}:${Buffer.alloc(32, version).toString('base64')}`).join(',');
}

export async function newAthlete({ database }: Worker): Promise<string> {
  const id = randomUUID();
  await database.query("insert into athlete (id, issuer, subject) values ($1, '', $2)", [id, id]);
  return id;
}

/** The whole way, as a browser goes it. */
export async function connect(
  { simulator }: ConnectionsHarness,
  { connecting }: Worker,
  athleteId: string,
  provider: Provider,
  choice: Readonly<Record<string, string>>,
  returnUrl?: string,
): Promise<ConnectOutcome> {
  const { authorizeUrl } = await connecting.start(athleteId, provider, returnUrl);
  const back = await simulator.consent(authorizeUrl, choice);
  return connecting.finish(provider, Object.fromEntries(back.searchParams));
}

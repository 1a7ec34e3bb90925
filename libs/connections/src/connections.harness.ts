import { randomUUID } from 'node:crypto';
import { request } from 'undici';
import { createLogger, type Database, type Logger, timeScale, type Workers } from '#platform';
import { loadProductConfig, type TokenAccess } from '#vendors';
import { JWT_SECRET } from '../../../test/harness/environment.js';
import { SimulatorProcess } from '../../../test/harness/simulator.js';
import { testWorkers } from '../../../test/harness/test-workers.js';
import { createTestDatabase, openPool } from '../../../test/harness/test-database.js';
import { type CallbackOutcome, type ConfirmEnd } from './connect/connect-outcome.js';
import { type ConnectionsParts, createConnections } from './create-connections.js';
import { type ConnectionListener } from './listeners.js';
import { type CallBudgets } from './oauth/token-endpoint.js';
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

export interface ConnectionsWorker extends ConnectionsParts {
  readonly database: Database;
  /** Makes the revocations that are due, one after the other, and returns their number. */
  revokeDue(): Promise<number>;
}

interface WorkerOptions {
  readonly http?: Http;
  readonly times?: Partial<RenewalTimes>;
  readonly env?: Readonly<Record<string, string>>;
  readonly listeners?: readonly ConnectionListener[];
  readonly logger?: Logger;
  readonly budgets?: CallBudgets;
  readonly workers?: Workers;
}

/** A database, simulated vendors, and any number of workers, each with its own connection pool. */
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

  async worker({
    http = plainHttp,
    times,
    env,
    listeners = [],
    logger,
    budgets,
    workers,
  }: WorkerOptions = {}): Promise<ConnectionsWorker> {
    const config = loadProductConfig({ ...this.env, ...env });
    const pool = await openPool(config.database.url, [], { poolSize: 2 });
    this.pools.push(pool);
    const { database } = pool;
    const scale = timeScale(config.timeScale);
    const its = workers ?? testWorkers(scale);
    const parts = createConnections({
      config,
      database,
      http,
      budgets,
      workers: its,
      timeScale: scale,
      logger: logger ?? createLogger({ level: 'silent', process: 'test' }),
      times: { cooldownMs: 1, ...times },
    });
    for (const listener of listeners) parts.listeners.register(listener);
    const due = its.of(parts.revocations.work);
    return { database, ...parts, revokeDue: () => due.drain() };
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

export async function newAthlete({ database }: ConnectionsWorker): Promise<string> {
  const id = randomUUID();
  await database.query("insert into athlete (id, issuer, subject) values ($1, '', $2)", [id, id]);
  return id;
}

/** Begins a consent, gives it at the simulated vendor and passes the vendor's redirect to the callback. */
export async function consent(
  { simulator }: ConnectionsHarness,
  { connectFlow }: ConnectionsWorker,
  athleteId: string,
  provider: Provider,
  choice: Readonly<Record<string, string>>,
  returnUrl?: string,
): Promise<CallbackOutcome> {
  const { authorizeUrl } = await connectFlow.start(athleteId, provider, { returnUrl });
  const back = await simulator.consent(authorizeUrl, choice);
  return connectFlow.finish(provider, Object.fromEntries(back.searchParams));
}

/** Gives a consent and confirms it as the athlete who began it. */
export async function connect(
  harness: ConnectionsHarness,
  worker: ConnectionsWorker,
  athleteId: string,
  provider: Provider,
  choice: Readonly<Record<string, string>>,
): Promise<{ readonly end: ConfirmEnd | CallbackOutcome['end'] }> {
  const outcome = await consent(harness, worker, athleteId, provider, choice);
  if (outcome.end.kind !== 'confirm') return outcome;
  return worker.consentConfirmation.confirm(provider, outcome.end.confirm, { athleteId });
}

/** The token of a successful access. */
export async function tokenIn(access: Promise<TokenAccess>): Promise<string> {
  const outcome = await access;
  if (outcome.kind !== 'token') throw new Error(outcome.reason);
  return outcome.token;
}

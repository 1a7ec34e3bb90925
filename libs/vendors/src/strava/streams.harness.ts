// For specs only.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createLogger, type RedisClient, timeScale } from '#platform';
import { budgetConnection, Ledger, VendorBudget } from '#rate-limit';
import { type Bounds, OutboundCaller } from '#reliability';
import { eventually } from '../../../../test/harness/eventually.js';
import { required } from '../../../../test/harness/servers.js';
import { type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type TokenAccess, type TokenSource } from '../call/token-source.js';
import { limits } from './limits.js';
import { type GaugedBudget, REVOKED, stravaCalls } from './simulated-strava.harness.js';
import { StravaApi } from './api.js';

const logger = createLogger({ level: 'silent', process: 'test' });
// Windows that never end, so that no test meets a boundary by accident.
const ETERNITY_SECONDS = 40_000_000_000;
// For tests that do not test time: a slow machine must not fail them.
const LONG_BOUNDS: Bounds = { attemptMs: 10_000, totalMs: 20_000 };
export const SHORT_BOUNDS: Bounds = { attemptMs: 250, totalMs: 10_000 };

export type Reply = (request: IncomingMessage, response: ServerResponse) => void;

const LARGE_BYTES = 50 * 1024 * 1024;

export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Reply =>
  (_, response) =>
    response
      .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));

/** The format of `key_by_type=true`. */
export const enveloped = (channels: Readonly<Record<string, unknown>>): Reply =>
  json(
    Object.fromEntries(Object.entries(channels).map(([type, data]) => [type, { data, series_type: 'time' }])),
  );

export const fault = (resource: string, field: string, code: string) => ({
  message: 'no',
  errors: [{ resource, field, code }],
});

export const page: Reply = (_, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Down for maintenance</html>');

const GZIPPED = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
const sample = gzipSync(
  JSON.stringify({ time: { data: Array.from({ length: 5_000 }, (_, second) => second) } }),
);

export const truncatedGzip: Reply = (_, response) =>
  response.writeHead(200, GZIPPED).end(sample.subarray(0, sample.length / 2));

/** A few KB when compressed. */
export const gzipBomb: Reply = (_, response) =>
  response.writeHead(200, GZIPPED).end(gzipSync(Buffer.alloc(LARGE_BYTES, ' ')));

export const announcedLarge: Reply = (_, response) =>
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': LARGE_BYTES }).write('{');

/** A large body without a content-length. */
export const endless: Reply = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const chunk = Buffer.alloc(256 * 1024, ' ');
  let sent = 0;
  const more = () => {
    while (sent < LARGE_BYTES && !response.destroyed) {
      sent += chunk.length;
      if (!response.write(chunk)) return void response.once('drain', more);
    }
    response.end();
  };
  more();
};

export const reset: Reply = (request) => void request.socket.resetAndDestroy();

export const brokenOff: Reply = (request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 }).write('{"time":');
  setImmediate(() => request.socket.destroy());
};

/** Never answers. */
export const silence: Reply = () => undefined;

class Tokens implements TokenSource {
  isRevoked = false;
  private issued = 0;
  access = (): Promise<TokenAccess> =>
    Promise.resolve({ kind: 'token', token: `token-${this.issued}`, connection: 'one' });
  isConnected = () => Promise.resolve(true);
  rejected = (): Promise<TokenAccess> => {
    this.issued += 1;
    return this.isRevoked ? Promise.resolve(REVOKED) : this.access();
  };
}

/** An HTTP server that sends scripted replies in place of Strava, with the real client, HTTP caller and budget. */
export class StravaDouble {
  readonly requests: Array<{ readonly url: string; readonly token: string | undefined }> = [];
  readonly tokens = new Tokens();
  /** One reply per request; the last one repeats. */
  replies: Reply[] = [];
  private readonly callers: OutboundCaller[] = [];

  private constructor(
    private readonly open: OpenDatabase,
    private readonly server: Server,
    private readonly redis: RedisClient,
    readonly budget: VendorBudget,
  ) {
    server.on('request', (request, response) => {
      this.requests.push({ url: request.url ?? '', token: request.headers.authorization });
      const reply = this.replies.length > 1 ? this.replies.shift() : this.replies[0];
      reply?.(request, response);
    });
  }

  static async start(open: OpenDatabase, limit = 100): Promise<StravaDouble> {
    await open.database.query('truncate strava_api_requests');
    await open.database.query("update vendor_budget_epoch set limits = '{}'");
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // A slow machine must not fail the tests.
    const redis = budgetConnection({ url: required('REDIS_URL'), keyPrefix: `t:${randomUUID()}:` }, logger, {
      commandTimeout: 30_000,
    });
    await eventually('the connection', () => redis.status === 'ready');
    const counters = limits.counters.map((counter) => ({
      ...counter,
      seconds: ETERNITY_SECONDS,
      limit,
      releasedForLastSeconds: 0,
    }));
    const ledger = new Ledger(open.database, 'strava');
    const budget = new VendorBudget({ ...limits, counters }, redis, ledger, timeScale(1), logger);
    return new StravaDouble(open, server, redis, budget);
  }

  streams({
    bounds = LONG_BOUNDS,
    budget = this.budget,
  }: { bounds?: Bounds; budget?: GaugedBudget } = {}): StravaApi {
    const apiUrl = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    const caller = new OutboundCaller(bounds, {
      name: 'strava',
      hosts: [apiUrl],
      logger,
      random: () => -0.33,
    });
    this.callers.push(caller);
    return new StravaApi(stravaCalls(apiUrl, caller, budget, this.tokens));
  }

  /** The status of each request in the ledger; null if it is not settled. */
  async ledger(): Promise<Array<number | null>> {
    const statement = 'select status from strava_api_requests order by id';
    const { rows } = await this.open.database.query<{ status: number | null }>(statement);
    return rows.map(({ status }) => status);
  }

  /** The calls that the counters have charged to the window. */
  async used(): Promise<number> {
    const gauges = await this.budget.gauges();
    return gauges.find(({ bucket, window }) => bucket === 'read' && window === '15min')?.used ?? 0;
  }

  loseRedis(): void {
    this.redis.disconnect();
  }

  async stop(): Promise<void> {
    this.redis.disconnect();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    await Promise.all(this.callers.map((caller) => caller.close()));
  }
}

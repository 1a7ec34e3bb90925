import { readFileSync } from 'node:fs';
import { JetStreamApiError } from '@nats-io/jetstream';
import {
  type Authenticator,
  connect,
  type ConnectionOptions,
  credsAuthenticator,
  nkeyAuthenticator,
  type NatsConnection,
  type ServerInfo,
} from '@nats-io/transport-node';
import { type Config } from '../config/config.js';
import { NKEY_SEED } from '../config/environment.js';
import { types } from 'node:util';
import { DependencyUnavailable } from '../errors/app-error.js';
import { type Logger } from '../logging/logger.js';
import { isBefore, requireVersion, ServerUnfit, type Version } from '../process/server-failure.js';
import { waitForServer } from '../process/wait-for-server.js';

export type NatsServers = Pick<Config['nats'], 'urls' | 'credsFile'>;

const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT_PAUSE_MS = 250;
const PING_MS = 2_500;

/** Connects to NATS. The connection reconnects by itself, without limit, every 250 ms. */
export function connectNats(servers: NatsServers | string, name: string): Promise<NatsConnection> {
  return connect({
    ...serverOptions(typeof servers === 'string' ? { urls: [servers] } : servers),
    name,
    timeout: CONNECT_TIMEOUT_MS,
    reconnectTimeWait: RECONNECT_PAUSE_MS,
    maxReconnectAttempts: -1,
    // By default the client notices a half-open link after four minutes, and closes the connection for good after two refused logins.
    pingInterval: PING_MS,
    maxPingOut: 2,
    ignoreAuthErrorAbort: true,
    // The client makes no stack traces of the callers of requests. These traces cost a tenth of a request.
    noAsyncTraces: true,
  });
}

type StartConfig = Pick<Config, 'nats' | 'startWaitMs'>;

/** Waits up to START_WAIT_SECONDS until an attempt succeeds; see `waitForServer`. */
export function waitForNats<T>(
  { nats, startWaitMs }: StartConfig,
  logger: Logger,
  attempt: () => Promise<T>,
): Promise<T> {
  const at = nats.urls.map((url) => new URL(url).host).join(',');
  return waitForServer({ server: 'NATS', at, logger, waitMs: startWaitMs }, attempt);
}

/** Connects to NATS. A server may start after this process, so the first connection is tried again. */
export function connectNatsAtStart(
  config: StartConfig,
  logger: Logger,
  name: string,
): Promise<NatsConnection> {
  return waitForNats(config, logger, () => connectNats(config.nats, name));
}

/** Returns the servers and the login. The client reads only host and port of a URL, and uses one login for all servers. */
export function serverOptions({ urls, credsFile }: NatsServers): ConnectionOptions {
  const parsed = urls.map((url) => new URL(url));
  const { username = '', password = '' } = parsed.find((url) => url.username || url.password) ?? {};
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  return {
    servers: parsed.map(({ host }) => host),
    // Without this option the client sends the login in clear text to a server that offers no TLS. Servers of a cluster announce each other,
    // so one tls:// URL requires TLS of all.
    ...(parsed.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
    ...(pass ? { user, pass } : user ? { token: user } : {}),
    ...(credsFile && { authenticator: authenticatorOf(credsFile) }),
  };
}

/** Logs in with the JWT and seed of a credentials file, or with the seed alone if the file has no JWT. */
function authenticatorOf(file: string): Authenticator {
  const read = rereading(file);
  const withJwt = credsAuthenticator(read);
  const withSeed = nkeyAuthenticator(() => Buffer.from(NKEY_SEED.exec(read().toString())?.[0] ?? ''));
  return (nonce) => (read().includes('NATS USER JWT') ? withJwt : withSeed)(nonce);
}

/** Reads the file again at each connection, because its JWT expires and is replaced. */
function rereading(file: string): () => Buffer {
  let known = readFileSync(file);
  return () => {
    try {
      known = readFileSync(file);
    } catch {
      // The file is being replaced. If this function threw, the client would close the connection for good.
    }
    return known;
  };
}

/** The state of the connection as the client knows it. A request on a broken link would only fail after its whole timeout. */
export interface Link {
  isUp(): boolean;
}

export function watchLink(connection: NatsConnection, onDown: () => void = () => undefined): Link {
  let up = true;
  const down = () => {
    up = false;
    onDown();
  };
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') down();
      if (type === 'reconnect') up = true;
    }
    down();
  })();
  return { isUp: () => up };
}

// Names of the client's errors that mean the server does not answer. Any other error is about the request, so the same request would fail
// again.
const AWAY = new Set([
  'ClosedConnectionError',
  'ConnectionError',
  'DrainingConnectionError',
  'JetStreamNotEnabled',
  'NoRespondersError',
  'RequestError',
  'TimeoutError',
]);

/** Turns an error that means NATS does not answer into DependencyUnavailable. Returns any other error unchanged. */
export function natsFailure(error: unknown): unknown {
  const isAway = types.isNativeError(error) && (AWAY.has(error.name) || isLeaderless(error));
  return isAway ? new DependencyUnavailable('nats', { cause: error }) : error;
}

// Codes of JetStream's API that mean, like the status 503, that a stream or a consumer has no leader or is on a server that is down.
const NOT_LEADER = 10_009;
const STREAM_OFFLINE = 10_118;
const CONSUMER_OFFLINE = 10_119;

const isLeaderless = (error: Error) =>
  error instanceof JetStreamApiError &&
  (error.status === 503 || [NOT_LEADER, STREAM_OFFLINE, CONSUMER_OFFLINE].includes(error.code));

const OLDEST_VERSION: Version = [2, 9, 4];
// With an older version, a crash can lose a stream. In a cluster of an older version, a change of leader loses acknowledged messages.
// Measured with five changes of leader and some 20,000 messages: 2.9.10 lost 343 messages, 2.10.27 lost none.
const SAFE_VERSION: Version = [2, 10, 23];

/**
 * Throws ServerUnfit if the server lacks JetStream or is too old, or if it cannot keep that many replicas because it is a single server.
 * Also throws if the server runs in a cluster with a version that may lose acknowledged messages.
 */
export function requireSafeNats(
  { version, jetstream, cluster }: Partial<ServerInfo>,
  replicas: number,
): void {
  requireVersion('NATS', version ?? '', OLDEST_VERSION);
  if (!jetstream) throw new ServerUnfit('NATS runs without JetStream: start it with -js');
  if (cluster && mayLose(version ?? ''))
    throw new ServerUnfit(
      `NATS ${version} runs in a cluster, and before ${SAFE_VERSION.join('.')} a cluster loses acknowledged messages: update it`,
    );
  if (!cluster && replicas > 1) throw new ServerUnfit(singleServer(replicas));
}

export const singleServer = (replicas: number): string =>
  `NATS runs as a single server, and NATS_REPLICAS is ${replicas}: set it to 1, or name a cluster of at least ${replicas} servers in NATS_URL`;

/** True for versions that can lose a stream in a crash. */
export const mayLose = (version: string): boolean => isBefore(version, SAFE_VERSION);

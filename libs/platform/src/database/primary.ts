import { type Socket } from 'node:net';
import pg from 'pg';
import { OneAtATime } from '../process/one-at-a-time.js';
import { isFinal, reasonOf, ServerUnfit } from '../process/server-failure.js';
import { serversOf } from './postgres-url.js';

export const STANDBY = 'This Postgres is read-only (a standby): name the primary';

const ASK_TIMEOUT_MS = 2_000;
// A worker waits 30 s for a statement. If the primary is frozen, it is left after this time plus ASK_TIMEOUT_MS.
const UNANSWERED_MS = 2_000;
// After the first answer, the other servers get this long: two servers may take writes after a fail-over, and the newer one is right.
const OTHERS_MS = 250;

// The timeline grows with each promotion. A server in recovery has no current position in the log.
const ASK = `select
  current_setting('transaction_read_only') = 'on' as read_only,
  case when pg_is_in_recovery() then 0
    else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
  end as timeline`;

const IS_READ_ONLY = `select current_setting('transaction_read_only') = 'on' as read_only`;

interface Writable {
  readonly url: string;
  readonly timeline: number;
}

/**
 * Knows which server of the list takes writes. It asks all servers when a connection is needed and the last answer is in doubt. If several
 * take writes, because an old primary came back, it names the one that was promoted last.
 *
 * Each connection belongs to an epoch. A new epoch begins when a server has gone away or refuses writes: connections of an older epoch are
 * closed before their next use, so that none of them reads from a server that is no longer the primary.
 *
 * Not guaranteed: if only an old primary answers and it still takes writes, it is used. The fail-over manager must stop it. Synchronous
 * replication keeps it from confirming commits.
 */
export class Primary {
  private readonly servers: readonly string[];
  private found: Promise<string> | undefined;
  private epochNow = 1;
  private readonly looks = new OneAtATime<unknown>();

  /** `url` may name several servers. */
  constructor(readonly url: string) {
    this.servers = serversOf(url);
  }

  get epoch(): number {
    return this.epochNow;
  }

  get hasSeveral(): boolean {
    return this.servers.length > 1;
  }

  /** The URL of the server that takes writes. If only one server is named, it is not asked. */
  find(): Promise<string> {
    if (!this.hasSeveral) return Promise.resolve(this.servers[0] ?? this.url);
    this.found ??= this.ask().catch((error: unknown) => {
      this.found = undefined;
      throw error;
    });
    return this.found;
  }

  /** A connection of this epoch has failed, so the server may be gone. Many connections that fail together begin one new epoch. */
  doubt(epoch: number): void {
    if (epoch !== this.epochNow) return;
    this.epochNow += 1;
    this.found = undefined;
  }

  /**
   * Call it when a statement begins, and the returned function when it ends. If there are several servers and a statement has no
   * answer, it looks every two seconds whether the statement's server is still the primary, and otherwise breaks the connection.
   */
  watch(client: pg.ClientBase): () => void {
    const { url } = originOf(client);
    if (!this.hasSeveral || !url) return doNothing;
    const timer = setInterval(() => {
      this.looks.run(url, () => timelineOf(url)).catch(() => socketOf(client).destroy());
    }, UNANSWERED_MS);
    return () => clearInterval(timer);
  }

  private async ask(): Promise<string> {
    const writable: Writable[] = [];
    const failures: Array<{ readonly host: string; readonly error: unknown }> = [];
    const asked = this.servers.map(async (url) => {
      try {
        writable.push({ url, timeline: await timelineOf(url) });
      } catch (error) {
        failures.push({ host: new URL(url).host, error });
        throw error;
      }
    });
    await Promise.any(asked).catch(() => undefined);
    await settledWithin(asked, writable.length > 0 ? OTHERS_MS : ASK_TIMEOUT_MS);
    const [newest] = writable.sort((one, other) => other.timeline - one.timeline);
    if (newest) return newest.url;
    // A wrong password is wrong at every server, so waiting does not help.
    const final = failures.find(({ error }) => isFinal(error));
    if (final) throw final.error;
    const reasons = failures.map(({ host, error }) => `${host}: ${reasonOf(error)}`);
    throw new Error(`no server takes writes (${reasons.join('; ')})`);
  }
}

async function timelineOf(connectionString: string): Promise<number> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: ASK_TIMEOUT_MS,
    query_timeout: ASK_TIMEOUT_MS,
  });
  // A connection that breaks rejects the awaited call and also emits `error`. Without a listener, this event would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ read_only: boolean; timeline: number }>(ASK);
    // Not ServerUnfit: while another server is promoted, waiting helps.
    if (!rows[0] || rows[0].read_only) throw new Error('read-only');
    return rows[0].timeline;
  } finally {
    // Not awaited, because a frozen server would not answer.
    client.end().catch(() => undefined);
  }
}

async function settledWithin(works: ReadonlyArray<Promise<unknown>>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([Promise.allSettled(works), late]);
  clearTimeout(timer);
}

interface Origin {
  /** The epoch in which the connection was made. */
  readonly epoch: number;
  /** The server's URL, if it is one of several. */
  readonly url?: string;
}

const origins = new WeakMap<pg.ClientBase, Origin>();
const originOf = (client: pg.ClientBase): Origin => origins.get(client) ?? { epoch: 0 };
export const epochOf = (client: pg.ClientBase): number => originOf(client).epoch;

const doNothing = () => undefined;
const socketOf = (client: pg.ClientBase) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

/** Options of a pool that connects to the primary only, and refuses a server that is read-only. */
export function primaryOnly(primary: Primary) {
  class PrimaryClient extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
      if (!callback) return super.connect();
      const { epoch } = primary;
      origins.set(this, { epoch });
      // A single server may be named in another way than by host and port.
      if (!primary.hasSeveral) return super.connect(callback);
      primary.find().then((url) => {
        const { hostname, port } = new URL(url);
        origins.set(this, { epoch, url });
        Object.assign(this, { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 5_432) });
        super.connect(callback);
      }, callback);
    }
  }
  const onConnect = async (client: pg.ClientBase) => {
    const query = { text: IS_READ_ONLY, query_timeout: ASK_TIMEOUT_MS };
    const { rows } = await client.query<{ read_only: boolean }>(query);
    if (!rows[0]?.read_only) return;
    primary.doubt(epochOf(client));
    throw new ServerUnfit(STANDBY);
  };
  return { Client: PrimaryClient, onConnect };
}

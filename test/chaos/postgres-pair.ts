import { hasPgBouncer, PgBouncer } from '../harness/pgbouncer.js';
import { PostgresServer } from '../harness/postgres-server.js';
import { Proxy } from '../harness/proxy.js';

/** SIGKILL: the primary is gone. SIGSTOP: it freezes, comes back later and still believes to be the primary. */
export type Fault = 'SIGKILL' | 'SIGSTOP';

/** How processes find the primary. */
export const ROUTES = ['several hosts', 'pooler'] as const;
export type Route = (typeof ROUTES)[number];

export const canRun = (route: Route) => route !== 'pooler' || hasPgBouncer;

interface Urls {
  readonly DATABASE_URL: string;
  readonly DATABASE_DIRECT_URL?: string;
  readonly DATABASE_READ_URL: string;
}

// The pooler cannot pass these on.
const ROLE_SETTINGS = ['statement_timeout', 'idle_in_transaction_session_timeout'];

/** A primary and a synchronous standby on two fixed ports. Each fault promotes the standby; the old primary becomes the next standby. */
export class PostgresPair {
  private constructor(
    private present: PostgresServer,
    private standby: PostgresServer,
    readonly urls: Urls,
    /** The address that a fail-over manager moves, in front of which the pooler stands. */
    private readonly address: Proxy | undefined,
    private readonly pooler: PgBouncer | undefined,
  ) {}

  static async start(route: Route): Promise<PostgresPair> {
    const primary = await PostgresServer.start();
    for (const name of ROLE_SETTINGS) await primary.query(`alter role postgres set ${name} = '30s'`);
    const standby = await primary.standby();
    await primary.waitForStandby();
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
    const both = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`;
    if (route === 'several hosts')
      return new PostgresPair(
        primary,
        standby,
        { DATABASE_URL: both, DATABASE_READ_URL: standby.url },
        undefined,
        undefined,
      );
    const address = await Proxy.before(primary.url);
    const settings = [
      'server_login_retry = 1',
      'server_connect_timeout = 2',
      'query_wait_timeout = 5',
      'default_pool_size = 20',
    ];
    const pooler = await PgBouncer.before(address.url, ...settings);
    const urls = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: both, DATABASE_READ_URL: standby.url };
    return new PostgresPair(primary, standby, urls, address, pooler);
  }

  /** The primary's URL now. */
  get url(): string {
    return this.present.url;
  }

  /** Ends when the standby takes writes. */
  async failOver(fault: Fault): Promise<void> {
    const old = this.present;
    old.signalAll(fault);
    await this.standby.promote();
    [this.present, this.standby] = [this.standby, old];
    this.address?.moveTo(this.url);
  }

  /** The old primary wakes up. It cannot confirm a commit, because its standby has left it. */
  wake(fault: Fault): void {
    if (fault === 'SIGSTOP') this.standby.signalAll('SIGCONT');
  }

  /** Makes the old primary the synchronous standby of the new one. */
  async rejoin(): Promise<void> {
    const { port } = this.standby;
    await this.standby.stop();
    this.standby = await this.present.standby({ port });
    await this.present.waitForStandby();
  }

  async stop(): Promise<void> {
    await this.pooler?.stop();
    await this.address?.close();
    await Promise.all([this.present.stop(), this.standby.stop()]);
  }
}

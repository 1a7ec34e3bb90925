import pg from 'pg';
import { Gauge } from 'prom-client';
import { DependencyUnavailable } from '../errors/app-error.js';
import { type Logger } from '../logging/logger.js';
import { Loop } from '../process/loop.js';
import { Database, type Result, type Sql, type Statement } from './database.js';
import { clientSettings, type DatabaseLimits, sessionSettings } from './data-source-options.js';

const TIMES = { heartbeatMs: 1_000, mostLagMs: 5_000 };
// Short, because a request that the standby does not answer still has to be answered by the primary.
const LIMITS = { statementTimeoutMs: 1_000 };
const CONNECT_TIMEOUT_MS = 500;
const MOST_SAMPLES = 60;

const lagSeconds = new Gauge({
  name: 'database_standby_lag_seconds',
  help: 'Age of the oldest write that the standby lacks, to about a second; 0 without a standby',
});

const POSITION = `select pg_current_wal_flush_lsn()::text as position, (select system_identifier::text from pg_control_system()) as system`;
// A standby that was promoted still answers pg_last_wal_replay_lsn().
const REPLAYED = `select
  case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text end as position,
  (select system_identifier::text from pg_control_system()) as system`;

interface StandbyOptions {
  /** True: the URL leads to a pooler. */
  readonly isPooled?: boolean;
  readonly times?: typeof TIMES;
}

interface At {
  /** Null: no standby any more. */
  readonly position: string | null;
  /** The id of the database cluster. A standby has the same id as its primary. */
  readonly system: string;
}

/**
 * A streaming standby that the api reads from. Once a second it compares how far primary and standby have come in the write-ahead log. The
 * standby is usable if it lacks no write that is older than five seconds. The heartbeat begins with the first look at `isUsable`.
 */
export class Standby {
  private readonly sql: Sql;
  private readonly times: typeof TIMES;
  private readonly pool: pg.Pool;
  private readonly heartbeat: Loop;
  private state: 'unknown' | 'away' | 'late' | 'usable' = 'unknown';
  private replayed = 0n;
  /** Positions of the primary that the standby lacks, oldest first. */
  private readonly lacking: Array<{ readonly position: bigint; readonly atMs: number }> = [];

  constructor(
    url: string,
    { applicationName, poolSize }: DatabaseLimits,
    private readonly primary: Sql,
    private readonly logger: Logger,
    { isPooled = false, times = TIMES }: StandbyOptions = {},
  ) {
    this.times = times;
    this.pool = new pg.Pool({
      connectionString: url,
      application_name: applicationName,
      max: poolSize,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      ...(isPooled ? {} : sessionSettings(LIMITS)),
      ...clientSettings(LIMITS),
    });
    // Without a handler, an idle connection that breaks would end the process.
    this.pool.on('error', (err) => this.logger.debug({ err }, 'connection to the standby lost'));
    this.sql = new Database(this.pool, { isPooled });
    this.heartbeat = new Loop('standby', () => this.beat(), logger);
  }

  get present(): 'unknown' | 'away' | 'late' | 'usable' {
    this.heartbeat.start();
    return this.state;
  }

  /** True once the standby shows all that the primary had committed at that position. */
  async hasReplayed(position: bigint): Promise<boolean> {
    if (this.replayed >= position) return true;
    const { rows } = await this.query<At>(REPLAYED);
    const now = rows[0]?.position;
    if (now) this.replayed = positionOf(now);
    return this.replayed >= position;
  }

  /** A standby that does not answer is not asked again until a heartbeat succeeds. */
  async query<Row extends object>(
    statement: Statement | string,
    values: readonly unknown[] = [],
  ): Promise<Result<Row>> {
    try {
      return await this.sql.query<Row>(statement, values);
    } catch (error) {
      if (error instanceof DependencyUnavailable) this.become('away');
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.heartbeat.stop();
    await this.pool.end();
  }

  private async beat(): Promise<number> {
    const { rows } = await this.primary.query<At>(POSITION);
    try {
      await this.compare(rows[0]!);
    } catch (err) {
      if (this.state !== 'away')
        this.logger.warn({ err }, 'the standby does not answer, the primary is read instead');
      this.become('away');
    }
    return this.times.heartbeatMs;
  }

  private async compare(primary: At): Promise<void> {
    this.lacking.push({ position: positionOf(primary.position ?? '0/0'), atMs: performance.now() });
    // The oldest position stays, because its age is the lag.
    if (this.lacking.length > MOST_SAMPLES) this.lacking.splice(1, 1);
    const { rows } = await this.sql.query<At>(REPLAYED);
    const { position, system } = rows[0]!;
    if (position === null) throw new Error('DATABASE_READ_URL leads to a server that is not a standby');
    if (system !== primary.system) throw new Error('DATABASE_READ_URL leads to a standby of another primary');
    this.replayed = positionOf(position);
    while (this.lacking[0] && this.lacking[0].position <= this.replayed) this.lacking.shift();
    const lagMs = this.lacking[0] ? performance.now() - this.lacking[0].atMs : 0;
    lagSeconds.set(lagMs / 1_000);
    this.become(
      lagMs <= this.times.mostLagMs && (this.lacking.length === 0 || this.state !== 'unknown')
        ? 'usable'
        : 'late',
    );
  }

  private become(state: 'away' | 'late' | 'usable'): void {
    if (state === 'usable' && this.state !== 'usable')
      this.logger.info('bodies and lists are read from the standby');
    this.state = state;
  }
}

/** A position in the write-ahead log, `16/B374D848`, as a number. */
export function positionOf(text: string): bigint {
  const [high = '0', low = '0'] = text.split('/');
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

import { randomUUID } from 'node:crypto';
import { Changes, createLogger, createRedis, type Sql } from '#platform';
import { required } from '../../../test/harness/servers.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { ChangeNews } from './change-news.js';
import { ChangeFeed, type Page, type PageQuery, READS_AT_ONCE } from './feed/change-feed.js';
import { ChangeTail } from './feed/change-tail.js';

export const silent = createLogger({ level: 'silent', process: 'test' });

/** The log of changes with its readers, without Nest. */
export class PushWorld {
  private constructor(
    readonly open: OpenDatabase,
    readonly news: ChangeNews,
    readonly feed: ChangeFeed,
    readonly tail: ChangeTail,
    readonly stop: () => Promise<void>,
  ) {}

  static async start(): Promise<PushWorld> {
    const open = await openTestDatabase([], { poolSize: 14, statementTimeoutMs: 60_000 });
    const config = { redis: { url: required('REDIS_URL'), keyPrefix: `t:${randomUUID()}:` } };
    const redis = createRedis(config.redis, silent);
    const news = new ChangeNews(new Changes(open.database), config, redis, silent);
    const feed = new ChangeFeed(open.database, news);
    const tail = new ChangeTail(open.database, feed, news, silent);
    news.onApplicationBootstrap();
    tail.onApplicationBootstrap();
    return new PushWorld(open, news, feed, tail, async () => {
      await tail.beforeApplicationShutdown();
      news.beforeApplicationShutdown();
      redis.disconnect();
      await open.close();
    });
  }

  get sql(): Sql {
    return this.open.database;
  }

  /** Empties the log, as after the first migration. */
  async reset(): Promise<void> {
    await this.sql.query('truncate change, change_outbox');
    await this.sql.query('update change_feed set last_seq = 0, purged_seq = 0, purged_id = null');
    await this.sql.query('update delivery_plan set planned_seq = 0');
    await this.sql.query(
      'update change_relay set published_seq = 0, stream_seq = 0, needs_recovery = false, leased_until = null',
    );
  }

  /** A change, as a trigger writes it. */
  async change(
    athleteId: string,
    subject: string,
    {
      type = 'sleep.stored',
      sql = this.sql,
      data = {},
    }: { type?: string; sql?: Sql; data?: object | null } = {},
  ): Promise<void> {
    await sql.query(
      'insert into change_outbox (type, athlete_id, subject_id, data) values ($1, $2, $3, $4)',
      [type, athleteId, subject, data === null ? null : JSON.stringify({ subject, ...data })],
    );
  }

  page(query: Partial<PageQuery> = {}, signal?: AbortSignal): Promise<Page> {
    const all = { athleteId: undefined, types: undefined, after: undefined, limit: 100 };
    return this.feed.page({ ...all, ...query }, signal);
  }

  /** All turns to read are taken while `work` runs. */
  async whileReadsHang(work: () => Promise<void>): Promise<void> {
    let hanging: ReadonlyArray<Promise<Page>> = [];
    await this.open.database.transaction(async (sql) => {
      await sql.query('lock table change in access exclusive mode');
      hanging = Array.from({ length: READS_AT_ONCE }, () => this.page({ athleteId: randomUUID() }));
      await work();
    });
    await Promise.all(hanging);
  }
}

export const subjectsOf = ({ items }: Page) => items.map(({ subject_id }) => subject_id);

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { loadSql, type Sql } from '#platform';
import { blocksOf, plansOf, waysInto } from '../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { floodOf } from './events.harness.js';
import { purgeEvents } from './event-queue.js';

const WAITING = 100_000;
// A few index pages and one or two rows. A scan of all waiting events would read thousands of blocks.
const MOST_BLOCKS = 200;

describe('the queue of Strava events with 100,000 waiting and 100,000 handled ones', () => {
  let open: OpenDatabase;
  let sql: Sql;
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 });
    sql = open.database;
    await sql.query(
      `insert into webhook_event
         (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, processed_at, outcome)
       select 'strava', n, n % 1000, 'activity', n, 'create', now(), '{}', now(), 'applied'
       from generate_series(1, $1::int) n`,
      [WAITING],
    );
  });
  beforeEach(() => sql.query("delete from webhook_event where dedupe_key like 'flood%'"));
  beforeEach(() => sql.query('truncate webhook_owner'));
  afterAll(() => open.close());

  async function blocksRead(statement: string, values: readonly unknown[]): Promise<number> {
    const { text } = loadSql(import.meta.url, `./sql/${statement}.sql`);
    const plans = await plansOf(open.database, text, values);
    for (const plan of plans) expect(waysInto('webhook_event', plan)).not.toContain('all of webhook_event');
    return Math.max(...plans.map(blocksOf));
  }

  const owners = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

  it.each([
    ['one owner has all 100,000 waiting events', { owners: owners(1), each: WAITING }],
    ['10,000 owners have ten waiting events each', { owners: owners(10_000), each: 10 }],
    ['none of 100,000 waiting events is due', { owners: owners(10_000), each: 10, dueIn: '1 hour' }],
  ])('claims, begins and releases Strava events by reading a few pages if %s', async (_, flood) => {
    await floodOf(sql, flood);
    await sql.query('vacuum analyze webhook_event, webhook_owner');
    expect(await blocksRead('claim-owner', ['strava', 30_000])).toBeLessThan(MOST_BLOCKS);
    expect(await blocksRead('begin-work', ['strava', '1', 0])).toBeLessThan(MOST_BLOCKS);
    expect(await blocksRead('release-owner', ['strava', '1', 0])).toBeLessThan(MOST_BLOCKS);
  });

  it('ignores an event of an unknown owner by reading a few pages while 100,000 events wait, and stores nothing', async () => {
    await floodOf(sql, { owners: owners(10_000), each: 10 });
    await sql.query('vacuum analyze webhook_event, webhook_owner');
    const stranger = [
      'strava',
      'flood-stranger',
      '999999999',
      'activity',
      '1',
      'create',
      new Date().toISOString(),
      '{}',
      1,
      'a-request',
      null,
    ];
    expect(await blocksRead('receive-event', stranger)).toBeLessThan(MOST_BLOCKS);
    // `blocksRead` rolls its statement back.
    const { rows } = await sql.query(loadSql(import.meta.url, './sql/receive-event.sql'), stranger);
    expect(rows).toEqual([{ result: 'ignored' }]);
    const kept = "select from webhook_event where dedupe_key = 'flood-stranger'";
    expect((await sql.query(kept)).count).toBe(0);
    expect((await sql.query("select 1 from webhook_owner where owner_id = '999999999'")).count).toBe(0);
  });

  it('purges handled events by the index, and reads only the events that it deletes', async () => {
    await sql.query(
      "update webhook_event set processed_at = now() - interval '8 days' where object_id::bigint <= 100",
    );
    await sql.query('vacuum analyze webhook_event');
    const keptMs = 7 * 86_400_000;
    expect(await blocksRead('purge-done', [keptMs, 10])).toBeLessThan(MOST_BLOCKS);
    expect(await purgeEvents(open.database, keptMs)).toBe(100);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Backfill } from '#backfill';
import { ClaimLost, type Database, DependencyUnavailable, OperatorActions, timeScale } from '#platform';
import { FailedFetches } from '#streams';
import { newAthlete } from '../../../test/harness/athletes.js';
import { countedStatements } from '../../../test/harness/counted-statements.js';
import { silent } from '../../../test/harness/sleep-world.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { testWorkers } from '../../../test/harness/test-workers.js';
import { StreamResetOrderRows, StreamResetOrders, StreamResetOrderWorker } from './stream-reset-orders.js';

const HOUR_MS = 3_600_000;

describe('orders to reset failed stream fetches', () => {
  let open: OpenDatabase;
  let sql: Database;
  let failed: FailedFetches;
  let orders: StreamResetOrders;
  let begun: string[];
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    failed = new FailedFetches(sql, timeScale(1));
    orders = new StreamResetOrders(sql, failed, new OperatorActions(sql));
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('truncate athlete, operator_action, stream_reset_order cascade');
    begun = [];
  });

  const fill = (athlete: string, count: number, error = 'answered 500') =>
    sql.query(
      `insert into activity (
         provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status, stream_fetch_error,
         stream_fetch_retry_count, stream_fetch_attempted_at
       )
       select 'strava', $1, $3 || n, '', 'Ride', now(), 1, 1, 1, 1, false, false, 0, now(), 'failed', $3, 3, now()
       from generate_series(1, $2::int) as n`,
      [athlete, count, error],
    );
  const backfill = {
    beginAll: (athlete: string) => Promise.resolve(begun.push(athlete) > 0),
  } as unknown as Backfill;
  const rows = () => new StreamResetOrderRows(sql);
  const work = (fetches: FailedFetches = failed) =>
    new StreamResetOrderWorker(sql, fetches, backfill, rows(), testWorkers(), silent);
  const stored = async () =>
    (
      await sql.query<object>(
        'select matched, handled, completed_at is null as is_open from stream_reset_order',
      )
    ).rows;
  const left = () => sql.now().then((now) => failed.count(sql, {}, now));
  /** How many activities have been reset this often. */
  const byFence = async () =>
    (
      await sql.query<object>(
        `select stream_fetch_fence::int as fence, count(*)::int as count from activity group by 1 order by 1`,
      )
    ).rows;

  it('an order resets the fetches of one reason in batches, each once, and begins their backfills', async () => {
    const [ann, bob] = [await newAthlete(sql), await newAthlete(sql)];
    await fill(ann, 1_200);
    await fill(bob, 10);
    await fill(bob, 5, 'malformed');
    expect(await orders.place({ error: 'answered 500' }, 'operator')).toBe(1_210);
    await work().runOnce();
    expect(await stored()).toEqual([{ matched: 1_210, handled: 1_210, is_open: false }]);
    expect(await byFence()).toEqual([
      { fence: 0, count: 5 },
      { fence: 1, count: 1_210 },
    ]);
    expect([...new Set(begun)].sort()).toEqual([ann, bob].sort());
  });

  it('an order records its operator, also if nothing matches', async () => {
    expect(await orders.place({ error: 'unheard of' }, 'operator')).toBe(0);
    const { rows: actions } = await sql.query('select actor, action, detail from operator_action');
    const detail = { error: 'unheard of', athlete_id: null, matched: 0 };
    expect(actions).toEqual([{ actor: 'operator', action: 'streams.reset', detail }]);
    expect(await stored()).toEqual([]);
  });

  it('another worker continues an order whose worker failed between two batches', async () => {
    await fill(await newAthlete(sql), 1_200);
    await orders.place({}, 'operator');
    let batches = 0;
    const failing = Object.create(failed) as FailedFetches;
    failing.resetSome = (...given) =>
      (batches += 1) === 2
        ? Promise.reject(new DependencyUnavailable('postgres'))
        : failed.resetSome(...given);
    await work(failing).runOnce();
    expect(await stored()).toEqual([{ matched: 1_200, handled: 500, is_open: true }]);
    await Promise.all([work().runOnce(), work().runOnce()]);
    expect(await stored()).toEqual([{ matched: 1_200, handled: 1_200, is_open: false }]);
    expect(await byFence()).toEqual([{ fence: 1, count: 1_200 }]);
  });

  it('an order stays open while another transaction has locked one of its fetches', async () => {
    await fill(await newAthlete(sql), 3);
    await orders.place({}, 'operator');
    await sql.transaction(async (locking) => {
      await locking.query('select from activity limit 1 for update');
      await work().runOnce();
    });
    expect([await left(), await stored()]).toEqual([1, [{ matched: 3, handled: 2, is_open: true }]]);
    await work().runOnce();
    expect([await left(), await stored()]).toEqual([0, [{ matched: 3, handled: 3, is_open: false }]]);
  });

  it('a fetch that fails again after the order was placed is not reset', async () => {
    const athlete = await newAthlete(sql);
    await fill(athlete, 2);
    await orders.place({ athleteId: athlete }, 'operator');
    await sql.query(
      `update activity set stream_fetch_attempted_at = clock_timestamp() where external_activity_id like '%1'`,
    );
    await work().runOnce();
    expect(await left()).toBe(1);
    expect(await stored()).toEqual([{ matched: 2, handled: 1, is_open: false }]);
  });

  it('a batch resets nothing if another worker has claimed the order since', async () => {
    await fill(await newAthlete(sql), 3);
    await orders.place({}, 'operator');
    const stalled = Object.create(failed) as FailedFetches;
    stalled.resetSome = async (...given) => {
      await sql.query(`update stream_reset_order set leased_until = now() - interval '1 hour'`);
      await rows().claim(HOUR_MS);
      return failed.resetSome(...given);
    };
    await work(stalled).runOnce();
    expect([await left(), await stored()]).toEqual([3, [{ matched: 3, handled: 0, is_open: true }]]);
  });

  it('a worker that lost its claim of an order can neither settle the order nor count its fetches', async () => {
    await fill(await newAthlete(sql), 1);
    await orders.place({}, 'operator');
    const frozen = (await rows().claim(HOUR_MS))!;
    await sql.query('update stream_reset_order set leased_until = now()');
    await rows().claim(HOUR_MS);
    expect(await rows().settle(frozen, { kind: 'completed' })).toBe(false);
    expect(await rows().settle(frozen, { kind: 'failed' })).toBe(false);
    await expect(rows().countHandled(sql, frozen, 1)).rejects.toThrow(ClaimLost);
    expect(await stored()).toEqual([{ matched: 1, handled: 0, is_open: true }]);
  });

  it('the purge deletes past orders in batches of 5,000', async () => {
    await sql.query(
      `insert into stream_reset_order (matched, completed_at)
       select 0, now() - n * interval '5 minutes'
       from generate_series(1, 15000) as n`,
    );
    const { database, counts } = countedStatements(sql);
    // 15,000 times 5 min are 52 days, of which 30 are kept.
    expect(await new StreamResetOrderRows(database).purge()).toBe(6_361);
    expect(counts).toEqual([5_000, 1_361]);
    expect((await stored()).length).toBe(8_639);
  });

  it('the deletion of an athlete deletes the orders about that athlete', async () => {
    const athlete = await newAthlete(sql);
    await fill(athlete, 1);
    await orders.place({ athleteId: athlete }, 'operator');
    await sql.query('delete from athlete');
    expect(await stored()).toEqual([]);
  });
});

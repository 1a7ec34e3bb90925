import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Database } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { modelRuns } from '../../../../test/harness/model-runs.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { FETCH_STATUSES, type FetchStatus } from '../lifecycle/stream-fetches.js';
import { connect, newActivity, stateOf } from '../streams.harness.js';
import { StreamCounts } from './stream-counts.js';

describe('the counts of stream fetches', () => {
  let open: OpenDatabase;
  let sql: Database;
  let counts: StreamCounts;
  let ann: string;
  let ben: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    counts = new StreamCounts(sql);
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from athlete');
    ann = await newAthlete(sql);
    ben = await newAthlete(sql);
  });

  it('stream counts name every state, for all activities and for each athlete', async () => {
    for (const status of FETCH_STATUSES) await newActivity(sql, ann, { status });
    await newActivity(sql, ben, { status: 'failed', retries: 1 });
    await newActivity(sql, ben, { manual: true });
    const one = { pending: 1, fetching: 1, success: 1, failed: 1, deferred: 1, unavailable: 1 };
    expect((await counts.overview()).byStatus).toEqual({ ...one, failed: 2, unavailable: 2 });
    const ofBen = { pending: 0, fetching: 0, success: 0, failed: 1, deferred: 0, unavailable: 1 };
    expect(await counts.byAthlete(10)).toEqual([
      { athlete_id: ann, ...one },
      { athlete_id: ben, ...ofBen },
    ]);
    expect(await counts.byAthlete(1)).toHaveLength(1);
  });

  it('stream counts group failed activities by number of failures, and count the activities that need a reset', async () => {
    for (const retries of [1, 1, 2, 3, 4]) await newActivity(sql, ann, { status: 'failed', retries });
    await newActivity(sql, ann, { status: 'success', retries: 3 });
    const { byRetries, stuck } = await counts.overview();
    expect(byRetries).toEqual(
      new Map([
        [1, 2],
        [2, 1],
        [3, 1],
        [4, 1],
      ]),
    );
    expect(stuck).toBe(2);
  });

  it('counts the stream calls left for connected athletes, with the end of the last deferral', async () => {
    await connect(sql, ann);
    await connect(sql, ben, 'needs_reauth');
    await newActivity(sql, ben);
    await newActivity(sql, ann);
    await newActivity(sql, ann, { status: 'failed', retries: 2, attempted: '1 second' });
    await newActivity(sql, ann, { status: 'deferred', deferredFor: '5 minutes' });
    const last = await newActivity(sql, ann, { status: 'deferred', deferredFor: '45 minutes' });
    await newActivity(sql, ann, { status: 'failed', retries: 3 });
    for (const status of ['success', 'unavailable', 'fetching'] as const)
      await newActivity(sql, ann, { status });
    const notBefore = (await stateOf(sql, last)).deferred_until;
    expect(await counts.callsLeft('strava')).toEqual(new Map([[ann, { calls: 4, notBefore }]]));
  });

  it('counts the stream calls left at each vendor by itself, before and after the changes are folded', async () => {
    for (const provider of ['strava', 'oura'] as const) await connect(sql, ann, 'active', provider);
    await newActivity(sql, ann);
    for (const status of ['pending', 'pending', 'success'] as const)
      await newActivity(sql, ann, { provider: 'oura', status });
    const left = async () => [
      (await counts.callsLeft('strava')).get(ann)?.calls,
      (await counts.callsLeft('oura')).get(ann)?.calls,
    ];
    expect(await left()).toEqual([1, 2]);
    await counts.fold();
    expect(await left()).toEqual([1, 2]);
    await sql.query(`delete from activity where provider = 'oura'`);
    await counts.fold();
    expect(await left()).toEqual([1, undefined]);
    expect((await sql.query('select 1 from stream_count_left')).count).toBe(1);
  });

  const STATES = ['pending', 'fetching', 'failed', 'deferred'] as const;
  const change = fc.oneof(
    fc.record({
      kind: fc.constant('add' as const),
      athlete: fc.nat(2),
      status: fc.constantFrom(...FETCH_STATUSES),
    }),
    fc.record({
      kind: fc.constant('move' as const),
      which: fc.nat(20),
      to: fc.constantFrom(...STATES),
      retries: fc.nat(4),
    }),
    fc.record({ kind: fc.constant('remove' as const), which: fc.nat(20) }),
    fc.record({ kind: fc.constant('fold' as const) }),
    fc.record({ kind: fc.constant('leave' as const), athlete: fc.nat(2) }),
  );

  it('stored stream counts equal a count of all activities after any change, folded or not', async () => {
    await sql.query('alter table activity disable trigger activity_stream_fetch_moves');
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 5, maxLength: 30 }), async (changes) => {
        await sql.query('delete from athlete');
        const athletes = [await newAthlete(sql), await newAthlete(sql), await newAthlete(sql)];
        for (const athlete of athletes) await connect(sql, athlete);
        const ids: string[] = [];
        const present = async (index: number) =>
          (await sql.query('select 1 from athlete where id = $1', [athletes[index]])).count > 0;
        for (const one of changes) {
          if (one.kind === 'fold') await Promise.all([counts.fold(), counts.fold()]);
          else if (one.kind === 'leave')
            await sql.query('delete from athlete where id = $1', [athletes[one.athlete]]);
          else if (one.kind === 'add') {
            if (await present(one.athlete))
              ids.push(await newActivity(sql, athletes[one.athlete]!, { status: one.status }));
          } else if (one.kind === 'remove')
            await sql.query('delete from activity where id = $1', [ids[one.which] ?? null]);
          else
            await sql.query(
              `update activity
               set
                 stream_fetch_status = $2, stream_fetch_retry_count = $3, stream_fetch_attempted_at = now(),
                 stream_fetch_deferred_until = now()
               where id = $1`,
              [ids[one.which] ?? null, one.to, one.retries],
            );
        }
        expect(await storedCounts()).toEqual(await countedRows());
        await counts.fold();
        expect(await storedCounts()).toEqual(await countedRows());
        expect((await sql.query('select 1 from stream_count_change')).count).toBe(0);
      }),
      modelRuns(40),
    );
    await sql.query('alter table activity enable trigger activity_stream_fetch_moves');
  });

  it('stored stream counts equal a count of all activities at every moment, while six clients change activities and fold the counts', async () => {
    await sql.query('alter table activity disable trigger activity_stream_fetch_moves');
    const athletes = [ann, ben];
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => newActivity(sql, athletes[n % 2]!)));
    const change = async (changer: number) => {
      for (let n = 0; n < 30; n += 1) {
        const id = ids[(changer * 5 + n * 7) % ids.length]!;
        if (n % 10 === 9) await sql.query('delete from activity where id = $1', [id]);
        else if (n % 10 === 4) ids.push(await newActivity(sql, athletes[n % 2]!, { manual: n % 20 === 4 }));
        else if (n % 10 === 6) await counts.fold();
        else
          await sql.query(
            `update activity
             set
               stream_fetch_status = $2, stream_fetch_retry_count = $3, stream_fetch_attempted_at = now(),
               stream_fetch_deferred_until = now()
             where id = $1`,
            [id, STATES[(n + changer) % STATES.length], n % 4],
          );
      }
    };
    let changers = 6;
    const changing = Array.from({ length: changers }, (_, n) => change(n).finally(() => (changers -= 1)));
    // One statement reads sums, changes and activities of one snapshot.
    const DIFFERENCE = `
      select status, sum(activities)::int as difference
      from (
        select status, activities from stream_count_total
        union all
        select status, change from stream_count_change
        union all
        select stream_fetch_status, -1 from activity
      ) counted
      group by status
      having sum(activities) <> 0`;
    let comparisons = 0;
    while (changers > 0) {
      expect((await sql.query(DIFFERENCE)).rows).toEqual([]);
      comparisons += 1;
    }
    await Promise.all(changing);
    expect(comparisons).toBeGreaterThan(5);
    for (const athlete of athletes) await connect(sql, athlete);
    expect(await storedCounts()).toEqual(await countedRows());
    await counts.fold();
    expect(await storedCounts()).toEqual(await countedRows());
    await sql.query('alter table activity enable trigger activity_stream_fetch_moves');
  });

  it('stored stream counts are empty after all activities are truncated', async () => {
    await newActivity(sql, ann);
    await counts.fold();
    await newActivity(sql, ben);
    await sql.query('truncate activity cascade');
    expect(await storedCounts()).toEqual(await countedRows());
    const one = await newActivity(sql, ann);
    await counts.fold();
    expect(await counts.byAthlete(10)).toMatchObject([{ athlete_id: ann, pending: 1 }]);
    await sql.query('delete from activity where id = $1', [one]);
  });

  /** The counts as StreamCounts answers them. */
  async function storedCounts() {
    const { byStatus, byRetries, stuck } = await counts.overview();
    const left = [...(await counts.callsLeft('strava'))]
      .map(([athlete, { calls }]) => [athlete, calls])
      .sort();
    const first = await counts.byAthlete(2);
    return { byStatus, byRetries: [...byRetries], stuck, left, all: await counts.byAthlete(10), first };
  }

  /** The same counts, from all rows of `activity`. */
  async function countedRows() {
    const each = FETCH_STATUSES.map(
      (status) => `(count(*) filter (where stream_fetch_status = '${status}'))::int as ${status}`,
    ).join(', ');
    const { rows: total } = await sql.query<Record<FetchStatus, number>>(`select ${each} from activity`);
    const { rows: all } = await sql.query<Record<FetchStatus, number> & { athlete_id: string }>(
      `select athlete_id, ${each}
       from activity
       group by athlete_id
       order by count(*) filter (where stream_fetch_status not in ('success', 'unavailable')) desc, athlete_id`,
    );
    const { rows: retried } = await sql.query<{ retries: number; activities: number }>(
      `select stream_fetch_retry_count as retries, count(*)::int as activities
       from activity where stream_fetch_status = 'failed' group by 1 order by 1`,
    );
    const { rows: left } = await sql.query<{ athlete_id: string; calls: number }>(
      `select athlete_id, count(*)::int as calls
       from activity
       where stream_fetch_status in ('pending', 'deferred')
         or (stream_fetch_status = 'failed' and stream_fetch_retry_count < 3)
       group by 1`,
    );
    return {
      byStatus: total[0],
      byRetries: retried.map(({ retries, activities }) => [retries, activities]),
      stuck: retried.filter(({ retries }) => retries >= 3).reduce((sum, row) => sum + row.activities, 0),
      left: left.map(({ athlete_id, calls }) => [athlete_id, calls]).sort(),
      all,
      first: all.slice(0, 2),
    };
  }

  it('stream counts are empty without activities', async () => {
    expect(await counts.callsLeft('strava')).toEqual(new Map());
    expect(await counts.overview()).toMatchObject({ byRetries: new Map(), stuck: 0 });
    expect(await counts.byAthlete(10)).toEqual([]);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { FETCH_STATUSES } from '../lifecycle/fetch-state.js';
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
    counts = new StreamCounts(sql, timeScale(1));
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from athlete');
    ann = await newAthlete(sql);
    ben = await newAthlete(sql);
  });

  it('name every state, of all and of each athlete', async () => {
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

  it('tell what failed by how often, and what only a reset helps', async () => {
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

  it('tell what is left of connected athletes, and until when the last of it is deferred', async () => {
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
    expect(await counts.left()).toEqual(new Map([[ann, { calls: 4, notBefore }]]));
  });

  it('have nothing to say where there is nothing', async () => {
    expect(await counts.left()).toEqual(new Map());
    expect(await counts.overview()).toMatchObject({ byRetries: new Map(), stuck: 0 });
    expect(await counts.byAthlete(10)).toEqual([]);
  });
});

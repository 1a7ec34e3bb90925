import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Sources } from '#vendors';
import { newAthlete } from '../../../test/harness/athletes.js';
import { blocksOf, plansOf, waysInto } from '../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { anActivity } from './activities.harness.js';
import { Activities, listActivities } from './activities.js';
import { ActivityStore } from './activity-store.js';
import { personalRecords } from './personal-records.js';

const MOST_BLOCKS = 600;
const START = new Date('2026-11-18T06:00:00Z');

describe('same_as of activities', () => {
  let open: OpenDatabase;
  let athleteId: string;
  const store = new ActivityStore();
  beforeAll(async () => (open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 })));
  afterAll(() => open.close());
  beforeEach(async () => (athleteId = await newAthlete(open.database)));

  const activities = () =>
    new Activities(open.database, {
      activities: () => ({ laps: () => [], splits: () => [] }),
    } as unknown as Sources);

  /** Adds an activity that began `laterS` after the start and took `elapsedTimeS`. Equal ids of two vendors are two activities. */
  async function add(
    provider: 'strava' | 'oura' | 'whoop',
    laterS: number,
    elapsedTimeS: number,
    { owner = athleteId, id = '1' } = {},
  ): Promise<string> {
    const startTime = new Date(START.getTime() + laterS * 1_000);
    const summary = anActivity({ id, startTime, elapsedTimeS });
    await store.saveSummaries(open.database, { athleteId: owner, provider }, [summary], new Date(0));
    const { rows } = await open.database.query<{ id: string }>(
      'select id from activity where athlete_id = $1 and provider = $2 and external_activity_id = $3',
      [owner, provider, id],
    );
    return rows[0]?.id ?? '';
  }

  async function listed(): Promise<Record<string, readonly string[]>> {
    const { items } = await activities().list(athleteId, { limit: 200 });
    return Object.fromEntries(items.map(({ id, same_as }) => [id, same_as]));
  }

  it.each([
    [60, 1_000, 1_000],
    [-60, 1_000, 1_000],
    [0, 1_000, 1_050],
    [0, 1_000, 950],
    [59, 0, 0],
  ])(
    'two vendors’ activities that start %i s apart and take %i s and %i s name each other',
    async (laterS, one, other) => {
      const ours = await add('strava', 0, one);
      const theirs = await add('oura', laterS, other);
      expect(await listed()).toEqual({ [ours]: [theirs], [theirs]: [ours] });
      expect((await activities().find(athleteId, ours)).same_as).toEqual([theirs]);
    },
  );

  it.each([
    [61, 1_000, 1_000],
    [-61, 1_000, 1_000],
    [0, 1_000, 1_053],
    [0, 1_000, 949],
  ])(
    'two vendors’ activities that start %i s apart and take %i s and %i s do not name each other',
    async (laterS, one, other) => {
      const ours = await add('strava', 0, one);
      const theirs = await add('oura', laterS, other);
      expect(await listed()).toEqual({ [ours]: [], [theirs]: [] });
    },
  );

  it('activities of one vendor, and those of another athlete, are never the same workout', async () => {
    const [ours, again] = [await add('strava', 0, 1_000), await add('strava', 1, 1_000, { id: '2' })];
    await add('oura', 0, 1_000, { owner: await newAthlete(open.database) });
    expect(await listed()).toEqual({ [ours]: [], [again]: [] });
  });

  it('a workout of three vendors is named by each of them, also in the export', async () => {
    const ids = [await add('strava', 0, 1_000), await add('oura', 20, 1_000), await add('whoop', 40, 1_000)];
    const others = Object.fromEntries(ids.map((id) => [id, ids.filter((one) => one !== id)]));
    expect(await listed()).toEqual(others);
    const records = personalRecords.map((Records) => new Records(open.database));
    const found: Record<string, unknown> = {};
    for await (const page of records.find(({ name }) => name === 'activities')!.read(athleteId))
      for (const { id, same_as } of page as ReadonlyArray<{ id: string; same_as: unknown }>)
        found[id] = same_as;
    expect(found).toEqual(others);
  });

  it('the first page of activities and one from the middle are read by the index of the newest, and each same_as by a lookup in it', async () => {
    for (const provider of ['strava', 'oura'])
      await open.database.query(
        `insert into activity (
           athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
           elevation_gain_m, manual, private, total_photo_count, asked_at
         )
         select $1, $2, n::text, 'Run', 'Run', now() - n * interval '1 hour', 1, 1, 1, 1, false, false, 0, now()
         from generate_series(1, 5000) n`,
        [athleteId, provider],
      );
    await open.database.query('vacuum analyze activity');
    const middle = new Date(Date.now() - 2_500 * 3_600_000).toISOString();
    const pages = [
      [null, null],
      [middle, randomUUID()],
    ];
    for (const [time, id] of pages) {
      const values = [athleteId, null, null, null, time, id, 51, null];
      for (const plan of await plansOf(open.database, listActivities.text, values)) {
        expect(waysInto('activity', plan)).toEqual(['activity_newest']);
        // About five blocks for each of the 51 rows. Reading the athlete's whole index for each row would take thousands.
        expect(blocksOf(plan)).toBeLessThan(MOST_BLOCKS);
      }
    }
  });
});

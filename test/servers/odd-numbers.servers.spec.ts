import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type VendorId } from '#vendors';
import { ActivityStore } from '../../libs/activities/src/activity-store.js';
import { toExercises } from '../../libs/vendors/src/polar/wire/exercise.js';
import { toPage } from '../../libs/vendors/src/strava/wire/activity.js';
import { newAthlete } from '../harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';

const OF_STRAVA = { name: 'Run', sport_type: 'Run', start_date: '2026-11-17T06:30:00Z', elapsed_time: 60 };
const OF_POLAR = { start_time: '2026-11-17T07:30:00', start_time_utc_offset: 60, duration: 'PT1M' };
const LISTS = {
  strava: {
    read: (items: readonly object[]) => toPage(items),
    item: (id: number, odd: object) => ({ ...OF_STRAVA, id, ...odd }),
    fields: [
      'utc_offset',
      'distance',
      'moving_time',
      'elapsed_time',
      'total_elevation_gain',
      'average_heartrate',
      'max_heartrate',
      'total_photo_count',
    ],
  },
  polar: {
    read: (items: readonly object[]) => toExercises(items),
    item: (id: number, odd: object) => ({ ...OF_POLAR, id: `${id}`, ...odd }),
    fields: ['start_time_utc_offset', 'distance', 'calories'],
  },
};
const CASES = (['strava', 'polar'] as const).flatMap((vendor) =>
  LISTS[vendor].fields.flatMap((field) => [3e9, -3e9, 1e300].map((value) => ({ vendor, field, value }))),
);

describe('a page of a list of activities', () => {
  let open: OpenDatabase;
  beforeAll(async () => {
    open = await openTestDatabase();
  });
  afterAll(() => open.close());

  it.each(CASES)(
    'a list of $vendor is saved although the $field of one item is $value',
    async ({ vendor, field, value }) => {
      const { read, item } = LISTS[vendor];
      const owner = { athleteId: await newAthlete(open.database), provider: vendor satisfies VendorId };
      const page = read([item(1, {}), item(2, { [field]: value }), item(3, {})]);
      await new ActivityStore().savePage(open.database, owner, page, null, new Date());
      const statement = 'select external_activity_id as id from activity where athlete_id = $1';
      const { rows } = await open.database.query<{ id: string }>(statement, [owner.athleteId]);
      expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(['1', '3']));
    },
  );
});

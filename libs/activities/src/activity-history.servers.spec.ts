import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { ActivityHistory } from './activity-history.js';
import { ActivityStore } from './activity-store.js';
import { anActivity, atStrava } from './activities.harness.js';

describe('the history of an activity', () => {
  let open: OpenDatabase;
  let history: ActivityHistory;
  let ann: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    history = new ActivityHistory(open.database);
    ann = await newAthlete(open.database);
  });
  afterAll(() => open.close());

  async function run(athleteId: string, day: number, distanceM: number): Promise<string> {
    const id = String(randomUUID().replaceAll(/\D/g, '')).slice(0, 15);
    const activity = anActivity({ id, distanceM, startTime: new Date(Date.UTC(2026, 9, day)) });
    await new ActivityStore().saveSummaries(open.database, atStrava(athleteId), [activity], new Date());
    const statement = 'select id from activity where external_activity_id = $1';
    return (await open.database.query<{ id: string }>(statement, [id])).rows[0]?.id ?? '';
  }

  it('the history reads the numbers of an activity, and the earlier activities of the athlete, latest first', async () => {
    await run(ann, 1, 1_000);
    await run(ann, 2, 2_000);
    const third = await run(ann, 3, 3_000);
    await run(ann, 4, 4_000);
    await run(await newAthlete(open.database), 2, 9_000);
    expect(await history.facts(third)).toEqual({
      sport_type: 'Run',
      distance_m: 3_000,
      moving_time_s: 3_000,
      elapsed_time_s: 3_100,
      elevation_gain_m: 50,
    });
    const earlier = await history.earlier(third, 10);
    expect(earlier.map(({ distance_m }) => distance_m)).toEqual([2_000, 1_000]);
    expect(await history.earlier(third, 1)).toEqual([
      { sport_type: 'Run', distance_m: 2_000, moving_time_s: 3_000, average_heartrate: 150 },
    ]);
  });

  it('the history has no numbers and no earlier activities for an unknown activity', async () => {
    expect(await history.facts(randomUUID())).toBeUndefined();
    expect(await history.earlier(randomUUID(), 10)).toEqual([]);
  });

  it('imported_name keeps the first name of an activity after a new name', async () => {
    const store = new ActivityStore();
    const first = anActivity({ id: '4711', name: 'Morning Run' });
    await store.saveSummaries(open.database, atStrava(ann), [first], new Date(1));
    await store.saveSummaries(open.database, atStrava(ann), [{ ...first, name: 'With Bob' }], new Date(2));
    const statement = 'select name, imported_name from activity where external_activity_id = $1';
    expect((await open.database.query(statement, ['4711'])).rows).toEqual([
      { name: 'With Bob', imported_name: 'Morning Run' },
    ]);
  });
});

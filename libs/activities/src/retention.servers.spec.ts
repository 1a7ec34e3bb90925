import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Config, createLogger, type Sweeps, timeScale } from '#platform';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { Retention } from './retention.js';

let open: OpenDatabase;
beforeAll(async () => {
  open = await openTestDatabase();
});
afterAll(() => open.close());

it('deletes what was fetched longer ago than the operator may keep it, however fresh its listing is', async () => {
  const athlete = await newAthlete(open.database);
  await open.database.query(
    `insert into activity (
       athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, detail_status, detail_stored_at
     )
     select $1, days::text, 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now(), 'stored', now() - days * interval '1 day'
     from generate_series(5, 9) days`,
    [athlete],
  );
  const config = { strava: { retentionDays: 7 } } as Config;
  const logger = createLogger({ level: 'silent', process: 'test' });
  await new Retention(open.database, {} as Sweeps, config, timeScale(1), logger).runOnce();
  const { rows } = await open.database.query<{ external_activity_id: string }>(
    'select external_activity_id from activity where athlete_id = $1 order by 1',
    [athlete],
  );
  expect(rows.map(({ external_activity_id }) => external_activity_id)).toEqual(['5', '6']);
});

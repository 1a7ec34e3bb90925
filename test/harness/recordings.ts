import { randomUUID } from 'node:crypto';
import { timeScale } from '#platform';
import { encode } from '../../libs/streams/src/reading/answer.js';
import { StreamFetches } from '../../libs/streams/src/lifecycle/stream-fetches.js';
import { type Recording } from '../../libs/streams/src/recording/recording.js';
import { openPool } from './test-database.js';

export const HOUR = 3_600;

/** Five channels with one sample a second, which compress no better than those of a watch. */
export function recordingOf(seconds: number): Recording {
  const time = Array.from({ length: seconds }, (_, second) => second);
  const noise = (second: number, prime: number) => (second * prime) % 1_009;
  const channels = {
    time,
    heartrate: time.map((second) => 120 + (noise(second, 7_919) % 60)),
    watts: time.map((second) => (second % 9 === 0 ? null : noise(second, 104_729))),
    altitude: time.map((second) => noise(second, 1_299_709) / 7),
    latlng: time.map((second) => [47 + noise(second, 611_953) / 9_973, 8 + second / 99_991]),
  };
  return { channels, pointCount: seconds };
}

/** Stores activities with these streams, as the worker does, and returns their ids. */
export async function storeActivities(
  databaseUrl: string,
  athleteId: string,
  recordings: readonly Recording[],
): Promise<string[]> {
  const pool = await openPool(databaseUrl, [], { statementTimeoutMs: 60_000 });
  const fetches = new StreamFetches(pool.database, timeScale(1));
  const ids: string[] = [];
  for (const recording of recordings) {
    const id = randomUUID();
    await pool.database.query(
      `insert into activity (
         provider, id, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at
       )
       values ('strava', $1, $2, $3, 'Ride', 'Ride', now(), 30000, $4, $4, 100, false, true, 0, now())`,
      [id, athleteId, id, recording.pointCount],
    );
    const claim = await fetches.claim(id);
    const fetchedAt = new Date();
    const stored = await encode(id, 'strava', fetchedAt, recording);
    if (!claim || !(await fetches.succeed(claim, 'strava', fetchedAt, stored))) throw new Error('not stored');
    ids.push(id);
  }
  await pool.close();
  return ids;
}

/** Copies an activity `count` times for an athlete, which is quicker than storing each. */
export async function copyActivity(
  databaseUrl: string,
  id: string,
  { athleteId, count }: { readonly athleteId: string; readonly count: number },
): Promise<void> {
  const pool = await openPool(databaseUrl, [], { statementTimeoutMs: 60_000 });
  await pool.database.query(
    `with copies as (
       insert into activity (
         provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
       )
       select
         'strava', $2, gen_random_uuid(), name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
       from activity, generate_series(1, $3)
       where id = $1
       returning id
     )
     insert into activity_stream (source, athlete_id, activity_id, stream_data, channels_available, point_count, body, etag)
     select 'strava', $2, copies.id, '{}', channels_available, point_count, body, copies.id
     from copies, activity_stream
     where activity_id = $1`,
    [id, athleteId, count],
  );
  await pool.close();
}

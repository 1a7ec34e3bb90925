import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { World } from '../harness/world.js';

// More than a worker resets between two looks of the test.
const MANY = 20_000;

let world: World;
const athlete = randomUUID();
beforeAll(async () => {
  world = await World.start();
  await world.pauseBackfill();
  await world.call(athlete, 'GET', '/v1/me');
  await world.rows(
    `insert into activity (
       athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status, stream_fetch_error,
       stream_fetch_retry_count, stream_fetch_attempted_at
     )
     select
       $1, 'strava', n, 'Run', 'Run', '2020-01-01', 1, 1, 1, 1, false, false, 0, now(), 'failed',
       case when n % 10 = 0 then 'other' else 'answered 500' end, 3, now()
     from generate_series(1, $2::int) n`,
    [athlete, MANY],
  );
});
afterAll(() => world?.stop());

const failures = async () => {
  type Body = { items: ReadonlyArray<{ error: string; count: number }> };
  const { items } = (await world.admin<Body>('GET', 'failures')).body;
  return Object.fromEntries(items.map(({ error, count }) => [error, count]));
};
const order = async () => {
  type Row = { handled: number; is_open: boolean };
  const statement = 'select handled, completed_at is null as is_open from stream_reset_order';
  return (await world.rows<Row>(statement))[0];
};

it('a bulk reset resets each matching stream fetch once, also if a worker is killed in the middle', async () => {
  const matching = MANY * 0.9;
  expect(await failures()).toEqual({ 'answered 500': matching, other: MANY / 10 });
  const { status, body } = await world.admin('POST', 'streams/reset', { error: 'answered 500' });
  expect({ status, body }).toEqual({ status: 202, body: { matched: matching } });
  await eventually('a part is reset', async () => ((await order())?.handled ?? 0) > 0);
  await world.kill(world.workers[0]!);
  const { handled = 0, is_open } = (await order())!;
  expect({ isPart: handled < matching, is_open }).toEqual({ isPart: true, is_open: true });
  // The counts are the progress.
  expect(await failures()).toEqual({ 'answered 500': matching - handled, other: MANY / 10 });

  await world.startWorker();
  await eventually('the order is carried out', async () => (await order())?.is_open === false, 60_000);
  expect(await order()).toEqual({ handled: matching, is_open: false });
  expect(await failures()).toEqual({ other: MANY / 10 });
  const resets = await world.rows(
    `select stream_fetch_status as status, stream_fetch_fence::int as fence, count(*)::int as count
     from activity group by 1, 2 order by 1`,
  );
  expect(resets).toEqual([
    { status: 'failed', fence: 0, count: MANY / 10 },
    { status: 'pending', fence: 1, count: matching },
  ]);
  expect(await world.rows(`select detail from operator_action where action = 'streams.reset'`)).toEqual([
    { detail: { error: 'answered 500', athlete_id: null, matched: matching } },
  ]);
}, 120_000);

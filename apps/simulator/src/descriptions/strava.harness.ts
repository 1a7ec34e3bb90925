// Bodies of answers are untyped in tests.
/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access */

import { type Vendor } from './checks.harness.js';

export const STRAVA: Vendor = {
  name: 'strava',
  base: '/api/v3',
  notOffered: [
    [/comments/, 'comments'],
    [/kudos/, 'kudos'],
    [/athlete\/zones/, '`/athlete/zones`'],
    [/PUT \/athlete$/, '`PUT /athlete`'],
    [/stats/, '`/athletes/{id}/stats`'],
    [/gear/, 'gear'],
    [/route/, 'routes'],
    [/segment/, 'segments and efforts'],
    [/club/, 'clubs'],
    [/uploads/, 'file uploads'],
  ],
  wrong: [[/_latlng must NOT have fewer than 2 items$/, 'without GPS Strava really sends an empty pair']],
  neverGiven: [
    [/^ActivityZone\.max$/, 'the description does not say what it is'],
    [/^PhotosSummary\.primary\.id$/, 'null since photos come from Strava itself'],
  ],

  async exercise(checks) {
    const { sim } = checks;
    await sim.sim('/limits', { vendor: 'strava', read_15min: 10_000, overall_15min: 10_000 });
    const { id: athlete, accessToken: token } = await sim.connect({ activities: 200, manual_share: 0.05 });
    const made = await Promise.all([
      sim.sim('/activities', { athlete_id: athlete, sport_type: 'Ride', power_w: 200, photos: 2 }),
      sim.sim('/activities', { athlete_id: athlete, sport_type: 'Yoga' }),
      sim.sim('/activities', { athlete_id: athlete, manual: true, distance_m: 5000, duration_s: 1800 }),
      sim.sim('/activities', { athlete_id: athlete, hide_start_time: true, private: true }),
    ]);
    await checks.call('GET /athlete', 200, '/athlete', { token });
    for (const page of [1, 2])
      await checks.call('GET /athlete/activities', 200, `/athlete/activities?per_page=200&page=${page}`, {
        token,
      });
    const listed = (await sim.get('/api/v3/athlete/activities?per_page=30', token)).body as { id: number }[];
    for (const id of new Set([
      ...made.map((one) => String(one.id)),
      ...listed.map((one) => String(one.id)),
    ])) {
      await checks.call('GET /activities/{id}', 200, `/activities/${id}`, { token });
      await checks.call('GET /activities/{id}/laps', 200, `/activities/${id}/laps`, { token });
      await checks.call('GET /activities/{id}/zones', 200, `/activities/${id}/zones`, { token });
    }
    const [ride] = made;
    const streams = `/activities/${ride!.id}/streams`;
    const keys =
      'keys=time,distance,latlng,altitude,velocity_smooth,heartrate,cadence,watts,temp,moving,grade_smooth';
    const STREAMS = 'GET /activities/{id}/streams';
    await checks.call(STREAMS, 200, `${streams}?${keys}&key_by_type=true`, { token });
    await checks.call(STREAMS, 400, streams, { token });
    await checks.call('PUT /activities/{id}', 200, `/activities/${ride!.id}`, { token, body: { name: 'x' } });
    const entry = {
      name: 'By hand',
      sport_type: 'Rowing',
      start_date_local: '2026-11-18T07:00:00Z',
      elapsed_time: 1800,
    };
    await checks.call('POST /activities', 201, '/activities', { token, body: entry });
    await checks.call('POST /activities', 400, '/activities', { token, body: {} });
    await checks.call('GET /activities/{id}', 404, '/activities/1', { token });
    await checks.call('GET /athlete/activities', 400, '/athlete/activities?page=0', { token });
    await checks.call('GET /athlete', 401, '/athlete');
    for (const [kind, status] of [
      ['http_429', 429],
      ['http_500', 500],
      ['app_inactive', 403],
    ] as const) {
      await sim.sim('/faults', { vendor: 'strava', kind, count: 1 });
      await checks.call('GET /athlete', status, '/athlete', { token });
    }
  },
};

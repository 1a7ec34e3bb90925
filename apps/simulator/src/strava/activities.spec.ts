import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connected, Harness } from '../simulator.harness.js';

let sim: Harness;
let athlete: Connected;
beforeEach(async () => {
  sim = await Harness.open();
  await sim.sim('/limits', { vendor: 'strava', read_15min: 10_000, overall_15min: 10_000 });
  athlete = await sim.connect({ activities: 120, seed: 7 });
});
afterEach(() => sim.close());

interface Listed {
  id: number;
  start_date: string;
  manual: boolean;
}

const api = (path: string, accessToken = athlete.accessToken) => sim.get(`/api/v3${path}`, accessToken);
const list = async (query = '') => (await api(`/athlete/activities${query}`)).body as Listed[];
const seconds = ({ start_date }: Listed) => Date.parse(start_date) / 1000;

describe('GET /athlete', () => {
  it('GET /athlete answers a detailed profile with profile:read_all, and a summary without this scope', async () => {
    expect((await api('/athlete')).body).toMatchObject({ id: Number(athlete.id), resource_state: 3 });
    const reader = await sim.connect({ scopes: ['read'] });
    expect((await api('/athlete', reader.accessToken)).body).toMatchObject({ resource_state: 2 });
  });

  it('Strava accepts the access token in the query', async () => {
    expect((await sim.get(`/api/v3/athlete?access_token=${athlete.accessToken}`)).status).toBe(200);
  });
});

describe('wrong calls of Strava', () => {
  it.each([
    ['no token', {}],
    ['an unknown token', { authorization: 'Bearer nobody' }],
    ['a token of another kind', { authorization: 'Basic NDcxMTpz' }],
    ['an empty header', { authorization: 'Bearer' }],
  ])('Strava answers 401 and a Fault to a call with %s on every route', async (_what, headers) => {
    for (const path of ['/athlete', '/athlete/activities', '/activities/1', '/activities/1/streams']) {
      const { status, body } = await sim.call('GET', `/api/v3${path}`, { headers });
      expect(status).toBe(401);
      expect(body).toEqual({
        message: 'Authorization Error',
        errors: [{ resource: 'Athlete', field: 'access_token', code: 'invalid' }],
      });
    }
  });

  it('Strava answers 404 and a Fault to unknown routes and to withdrawn routes', async () => {
    for (const path of ['/clubs/1/members', '/clubs/1/activities', '/segments/explore', '/nothing']) {
      const { status, body } = await api(path);
      expect(status).toBe(404);
      expect(body).toMatchObject({ message: 'Resource Not Found', errors: [{ code: 'not found' }] });
    }
  });
});

describe('GET /athlete/activities', () => {
  it('GET /athlete/activities answers 30 activities by default, newest first', async () => {
    const page = await list();
    expect(page).toHaveLength(30);
    const starts = page.map(seconds);
    expect(starts).toEqual(starts.toSorted((a, b) => b - a));
  });

  it('GET /athlete/activities answers at most 200 activities a page, and an empty page after the last page', async () => {
    athlete = await sim.connect({ activities: 250 });
    const pages = [
      await list('?per_page=500'),
      await list('?per_page=200&page=2'),
      await list('?per_page=200&page=3'),
    ];
    expect(pages.map(({ length }) => length)).toEqual([200, 50, 0]);
    expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(250);
  });

  it('GET /athlete/activities with after answers later activities, oldest first', async () => {
    const all = [...(await list('?per_page=100')), ...(await list('?per_page=100&page=2'))];
    const pivot = all[100]!;
    const after = await list(`?after=${seconds(pivot)}&per_page=200`);
    expect(after.map(({ id }) => id)).toEqual(
      all
        .slice(0, 100)
        .map(({ id }) => id)
        .toReversed(),
    );
  });

  it('GET /athlete/activities with before answers earlier activities, newest first', async () => {
    const all = await list('?per_page=200');
    const before = await list(`?before=${seconds(all[10]!)}&per_page=5`);
    expect(before.map(({ id }) => id)).toEqual(all.slice(11, 16).map(({ id }) => id));
    const [inclusive] = await list(`?before=${seconds(all[10]!) + 1}&per_page=1`);
    expect(inclusive!.id).toBe(all[10]!.id);
  });

  it('a Strava activity has UTC in start_date, and local time with a false Z in start_date_local', async () => {
    const [one] = (await api('/athlete/activities?per_page=1')).body;
    expect(Date.parse(one.start_date_local) - Date.parse(one.start_date)).toBe(one.utc_offset * 1000);
    expect(one.start_date_local).toMatch(/Z$/);
  });

  it('a Strava activity with a hidden start time starts at 00:00:01 of the local day', async () => {
    const { id } = await sim.sim('/activities', { athlete_id: athlete.id, hide_start_time: true });
    const [one] = (await api('/athlete/activities?per_page=1')).body;
    expect(String(one.id)).toBe(id);
    expect(one.start_date_local).toMatch(/T00:00:01Z$/);
    expect(Date.parse(one.start_date_local) - Date.parse(one.start_date)).toBe(one.utc_offset * 1000);
    const detail = (await api(`/activities/${id}`)).body;
    expect(detail.start_date).toBe(one.start_date);
    expect((await sim.get(`/__sim/activities/${id}`)).body.start_date).not.toBe(one.start_date);
  });

  it.each(['page=0', 'page=x', 'per_page=0', 'before=yesterday'])(
    'GET /athlete/activities answers 400 and a Fault to %s',
    async (query) => {
      const { status, body } = await api(`/athlete/activities?${query}`);
      expect(status).toBe(400);
      expect(body.errors).toEqual([{ resource: 'Application', field: query.split('=')[0], code: 'invalid' }]);
    },
  );

  it('GET /athlete/activities answers 401 with the missing permission to a token without activity:read', async () => {
    const { accessToken } = await sim.connect({ scopes: ['read'] });
    const { status, body } = await api('/athlete/activities', accessToken);
    expect(status).toBe(401);
    expect(body).toEqual({
      message: 'Authorization Error',
      errors: [{ resource: 'AccessToken', field: 'activity:read_permission', code: 'missing' }],
    });
  });
});

describe('GET /activities/{id}', () => {
  it('GET /activities/{id} answers the detail, and include_all_efforts changes nothing', async () => {
    const [{ id }] = (await list('?per_page=1')) as [Listed];
    const detail = await api(`/activities/${id}`);
    expect(detail.body).toMatchObject({ id, resource_state: 3, athlete: { id: Number(athlete.id) } });
    expect((await api(`/activities/${id}?include_all_efforts=true`)).text).toBe(detail.text);
  });

  it.each(['1', 'abc', '99999999999999999999', '%zz', '%00', '%ff'])(
    'GET /activities/{id} answers 404 and a Fault to the unknown id %s',
    async (id) => {
      const { status, body } = await api(`/activities/${id}`);
      expect(status).toBe(404);
      expect(body).toEqual({
        message: 'Resource Not Found',
        errors: [{ resource: 'Activity', field: 'id', code: 'not found' }],
      });
    },
  );

  it('GET /activities/{id} answers 404 for the activity of another athlete', async () => {
    const [{ id }] = (await list('?per_page=1')) as [Listed];
    const other = await sim.connect();
    expect((await api(`/activities/${id}`, other.accessToken)).status).toBe(404);
  });

  it('Strava hides private activities from a token without activity:read_all, in lists, details and streams', async () => {
    const reader = await sim.connect({ activities: 0, scopes: ['read', 'activity:read'] });
    const open = await sim.sim('/activities', { athlete_id: reader.id });
    const hidden = await sim.sim('/activities', { athlete_id: reader.id, private: true });
    const listed = (await api('/athlete/activities', reader.accessToken)).body as Listed[];
    expect(listed.map(({ id }) => String(id))).toEqual([open.id]);
    expect((await api(`/activities/${hidden.id}`, reader.accessToken)).status).toBe(404);
    expect((await api(`/activities/${hidden.id}/streams?keys=time`, reader.accessToken)).status).toBe(404);
  });

  it('GET /athlete/activities cuts a page before it drops hidden activities, so a page may have few activities or none', async () => {
    const past = { activities: 100, private_share: 0.5, private_newest: 40 };
    const lists = async (scopes: string[], query = '') => {
      const { accessToken } = await sim.connect({ ...past, scopes });
      const pages = [1, 2, 3, 4].map((page) => `/athlete/activities?per_page=30&page=${page}${query}`);
      return Promise.all(pages.map(async (path) => (await api(path, accessToken)).body.length as number));
    };
    expect(await lists(['activity:read_all'])).toEqual([30, 30, 30, 10]);
    expect(await lists(['activity:read'])).toEqual([0, 10, 15, 5]);
    expect(await lists(['activity:read'], '&after=0')).toEqual([15, 15, 0, 0]);
  });

  it.each([
    [{ private: true }, { private: false }, 'everyone'],
    [{ private: true }, { visibility: 'followers_only' }, 'followers_only'],
    [{ visibility: 'only_me' }, { private: false }, 'everyone'],
  ])(
    'an activity hidden by %j is visible again after the edit %j, with visibility %s',
    async (first, edit, visibility) => {
      const reader = await sim.connect({ activities: 0, scopes: ['activity:read'] });
      const { id } = await sim.sim('/activities', { athlete_id: reader.id });
      await sim.json('PATCH', `/__sim/activities/${id}`, first);
      expect((await api(`/activities/${id}`, reader.accessToken)).status).toBe(404);
      await sim.json('PATCH', `/__sim/activities/${id}`, edit);
      const { body } = await api(`/activities/${id}`, reader.accessToken);
      expect(body).toMatchObject({ private: false, visibility });
    },
  );

  it('laps, zones and photos of an activity each have a route', async () => {
    const { id } = await sim.sim('/activities', { athlete_id: athlete.id, photos: 2 });
    expect((await api(`/activities/${id}/laps`)).body[0]).toMatchObject({
      lap_index: 1,
      activity: { id: Number(id) },
    });
    expect((await api(`/activities/${id}/zones`)).body[0]).toHaveProperty('distribution_buckets');
    expect((await api(`/activities/${id}/photos?size=2000`)).body).toHaveLength(2);
    expect((await api(`/activities/${id}`)).body.total_photo_count).toBe(2);
  });
});

describe('ids of Strava', () => {
  it.each([
    ['beyond 32 bit', '5000000001'],
    ['beyond 2^53', '9007199254740993'],
  ])('Strava ids %s keep every digit as bare numbers on the wire', async (_size, first) => {
    const { accessToken } = await sim.connect({ activities: 3, first_activity_id: first });
    const { text } = await api('/athlete/activities', accessToken);
    const ids = [...text.matchAll(/"id":(\d{10,}),/g)].map(([, digits]) => digits!);
    expect(ids).toHaveLength(3);
    for (const id of ids) {
      expect(BigInt(id) - BigInt(first)).toBeLessThan(100n);
      expect((await api(`/activities/${id}`, accessToken)).text).toContain(`"id":${id},`);
    }
  });

  it('two athletes of the same seed have no activity id in common', async () => {
    const twin = await sim.connect({ activities: 120, seed: 7 });
    const listed = await api('/athlete/activities?per_page=200', twin.accessToken);
    const mine = new Set((await list('?per_page=200')).map(({ id }) => id));
    expect((listed.body as Listed[]).filter(({ id }) => mine.has(id))).toEqual([]);
  });
});

describe('POST /activities', () => {
  const manual = {
    name: 'Club night',
    sport_type: 'Padel',
    start_date_local: '2026-11-17T19:30:00Z',
    elapsed_time: '5400',
  };
  const post = (fields: Record<string, string>) =>
    sim.form('/api/v3/activities', fields, { authorization: `Bearer ${athlete.accessToken}` });

  it('POST /activities accepts commute and trainer as 1 and the start in local time', async () => {
    const { status, body } = await post({ ...manual, commute: '1', trainer: '1', distance: '0' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'Club night',
      sport_type: 'Padel',
      type: 'Workout',
      commute: true,
      trainer: true,
      manual: true,
      elapsed_time: 5400,
      start_date_local: '2026-11-17T19:30:00Z',
    });
  });

  it('POST /activities accepts type instead of sport_type, and answers 400 without a known sport', async () => {
    const { sport_type, ...rest } = manual;
    expect((await post({ ...rest, type: 'Rowing' })).body.sport_type).toBe('Rowing');
    for (const wrong of [rest, { ...rest, sport_type: 'Chess' }]) {
      const { status, body } = await post(wrong);
      expect(status).toBe(400);
      expect(body.errors[0].field).toBe('sport_type');
    }
    expect(sport_type).toBe('Padel');
  });
});

describe('fields of a run', () => {
  it('a run with heart rate has a suffer score, splits per kilometre and splits per mile', async () => {
    const { id } = await sim.sim('/activities', { athlete_id: athlete.id, distance_m: 8_100, photos: 0 });
    const { body } = await api(`/activities/${id}`);
    expect(body.suffer_score).toBeGreaterThan(0);
    expect(body.splits_metric).toHaveLength(9);
    expect(body.splits_standard).toHaveLength(6);
    expect(body.splits_standard[0].distance).toBeCloseTo(1609.3, 0);
    const bare = { athlete_id: athlete.id, missing_channels: ['heartrate'] };
    const { id: without } = await sim.sim('/activities', bare);
    expect((await api(`/activities/${without}`)).body).not.toHaveProperty('suffer_score');
  });
});

describe('sport types', () => {
  it.each([
    ['Yoga', 'Yoga', 'Yoga', false],
    ['Padel', 'Workout', 'Padel', false],
    ['Rowing', 'Rowing', 'Rowing', true],
    ['VirtualRun', 'VirtualRun', 'Virtual Run', true],
    ['EBikeRide', 'EBikeRide', 'E-Bike Ride', true],
    ['StandUpPaddling', 'StandUpPaddling', 'Stand Up Paddling', true],
    ['HighIntensityIntervalTraining', 'Workout', 'High Intensity Interval Training', false],
  ])(
    'a Strava activity of the sport %s has type %s, the name %s and the streams of the sport',
    async (sport_type, type, noun, hasDistance) => {
      const { id } = await sim.sim('/activities', { athlete_id: athlete.id, sport_type });
      const { body } = await api(`/activities/${id}`);
      expect(body).toMatchObject({ sport_type, type });
      expect(body.name).toMatch(new RegExp(`^\\w+ ${noun}$`));
      expect(body.distance > 0).toBe(hasDistance);
      const streams = (await api(`/activities/${id}/streams?keys=time,distance&key_by_type=true`)).body;
      expect(Object.keys(streams)).toEqual(hasDistance ? ['time', 'distance'] : ['time']);
      expect((await sim.get(`/__sim/activities/${id}`)).body.sport_type).toBe(sport_type);
    },
  );
});

describe('PUT /activities/{id}', () => {
  it('PUT /activities/{id} changes name, description, type and flags, from JSON or a form', async () => {
    const [{ id }] = (await list('?per_page=1')) as [Listed];
    const changed = await sim.json(
      'PUT',
      `/api/v3/activities/${id}`,
      { name: 'Morning hills', description: 'steep', sport_type: 'TrailRun' },
      athlete.accessToken,
    );
    expect(changed.body).toMatchObject({
      name: 'Morning hills',
      description: 'steep',
      sport_type: 'TrailRun',
    });
    const form = await sim.call('PUT', `/api/v3/activities/${id}`, {
      headers: { authorization: `Bearer ${athlete.accessToken}` },
      body: new URLSearchParams({ commute: 'true', hide_from_home: 'false' }),
    });
    expect(form.body).toMatchObject({ commute: true, hide_from_home: false, name: 'Morning hills' });
    expect((await api(`/activities/${id}`)).body).toMatchObject({ name: 'Morning hills', commute: true });
  });

  it('PUT /activities/{id} answers 401 to a token without activity:write', async () => {
    const reader = await sim.connect({ scopes: ['activity:read_all'] });
    const { status, body } = await sim.json('PUT', '/api/v3/activities/1', {}, reader.accessToken);
    expect(status).toBe(401);
    expect(body.errors[0].field).toBe('activity:write_permission');
  });

  it('PUT /activities/{id} answers 400 to a wrong value and names the field', async () => {
    const [{ id }] = (await list('?per_page=1')) as [Listed];
    const { status, body } = await sim.json(
      'PUT',
      `/api/v3/activities/${id}`,
      { name: 7 },
      athlete.accessToken,
    );
    expect(status).toBe(400);
    expect(body.errors).toEqual([{ resource: 'Activity', field: 'name', code: 'invalid' }]);
  });

  it('PUT /activities/{id} answers 400 to unreadable JSON', async () => {
    const { status } = await sim.call('PUT', '/api/v3/activities/1', {
      headers: { authorization: `Bearer ${athlete.accessToken}`, 'content-type': 'application/json' },
      body: '{"name":',
    });
    expect(status).toBe(400);
  });
});

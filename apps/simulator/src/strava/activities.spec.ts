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
  it('shows the profile, detailed with profile:read_all and a summary without', async () => {
    expect((await api('/athlete')).body).toMatchObject({ id: Number(athlete.id), resource_state: 3 });
    const reader = await sim.connect({ scopes: ['read'] });
    expect((await api('/athlete', reader.accessToken)).body).toMatchObject({ resource_state: 2 });
  });

  it('takes the token from the query as well', async () => {
    expect((await sim.get(`/api/v3/athlete?access_token=${athlete.accessToken}`)).status).toBe(200);
  });
});

describe('a wrong call', () => {
  it.each([
    ['no token', {}],
    ['an unknown token', { authorization: 'Bearer nobody' }],
    ['a token of another kind', { authorization: 'Basic NDcxMTpz' }],
    ['an empty header', { authorization: 'Bearer' }],
  ])('with %s is 401 and a Fault, whatever it asks for', async (_what, headers) => {
    for (const path of ['/athlete', '/athlete/activities', '/activities/1', '/activities/1/streams']) {
      const { status, body } = await sim.call('GET', `/api/v3${path}`, { headers });
      expect(status).toBe(401);
      expect(body).toEqual({
        message: 'Authorization Error',
        errors: [{ resource: 'Athlete', field: 'access_token', code: 'invalid' }],
      });
    }
  });

  it('for what Strava does not have, or has no more, is 404 and a Fault', async () => {
    for (const path of ['/clubs/1/members', '/clubs/1/activities', '/segments/explore', '/nothing']) {
      const { status, body } = await api(path);
      expect(status).toBe(404);
      expect(body).toMatchObject({ message: 'Resource Not Found', errors: [{ code: 'not found' }] });
    }
  });
});

describe('GET /athlete/activities', () => {
  it('gives 30 a page unless told otherwise, newest first', async () => {
    const page = await list();
    expect(page).toHaveLength(30);
    const starts = page.map(seconds);
    expect(starts).toEqual(starts.toSorted((a, b) => b - a));
  });

  it('gives at most 200 a page, and an empty page after the last', async () => {
    athlete = await sim.connect({ activities: 250 });
    const pages = [
      await list('?per_page=500'),
      await list('?per_page=200&page=2'),
      await list('?per_page=200&page=3'),
    ];
    expect(pages.map(({ length }) => length)).toEqual([200, 50, 0]);
    expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(250);
  });

  it('gives oldest first with after, exclusively', async () => {
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

  it('gives what started before a moment, newest first, exclusively', async () => {
    const all = await list('?per_page=200');
    const before = await list(`?before=${seconds(all[10]!)}&per_page=5`);
    expect(before.map(({ id }) => id)).toEqual(all.slice(11, 16).map(({ id }) => id));
    const [inclusive] = await list(`?before=${seconds(all[10]!) + 1}&per_page=1`);
    expect(inclusive!.id).toBe(all[10]!.id);
  });

  it('shows false Z in start_date_local and UTC in start_date', async () => {
    const [one] = (await api('/athlete/activities?per_page=1')).body;
    expect(Date.parse(one.start_date_local) - Date.parse(one.start_date)).toBe(one.utc_offset * 1000);
    expect(one.start_date_local).toMatch(/Z$/);
  });

  it('shows 00:00:01 of the local day where the start time is hidden', async () => {
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
    'answers %s with 400 and a Fault',
    async (query) => {
      const { status, body } = await api(`/athlete/activities?${query}`);
      expect(status).toBe(400);
      expect(body.errors).toEqual([{ resource: 'Application', field: query.split('=')[0], code: 'invalid' }]);
    },
  );

  it('needs activity:read and says so with 401 and the missing permission', async () => {
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
  it('is the detail, the same with include_all_efforts', async () => {
    const [{ id }] = (await list('?per_page=1')) as [Listed];
    const detail = await api(`/activities/${id}`);
    expect(detail.body).toMatchObject({ id, resource_state: 3, athlete: { id: Number(athlete.id) } });
    expect((await api(`/activities/${id}?include_all_efforts=true`)).text).toBe(detail.text);
  });

  it.each(['1', 'abc', '99999999999999999999', '%zz', '%00', '%ff'])(
    'answers 404 and a Fault for the unknown id %s',
    async (id) => {
      const { status, body } = await api(`/activities/${id}`);
      expect(status).toBe(404);
      expect(body).toEqual({
        message: 'Resource Not Found',
        errors: [{ resource: 'Activity', field: 'id', code: 'not found' }],
      });
    },
  );

  it("answers 404 for another athlete's activity", async () => {
    const [{ id }] = (await list('?per_page=1')) as [Listed];
    const other = await sim.connect();
    expect((await api(`/activities/${id}`, other.accessToken)).status).toBe(404);
  });

  it('hides what is private from a token without activity:read_all, in lists as well', async () => {
    const reader = await sim.connect({ activities: 0, scopes: ['read', 'activity:read'] });
    const open = await sim.sim('/activities', { athlete_id: reader.id });
    const hidden = await sim.sim('/activities', { athlete_id: reader.id, private: true });
    const listed = (await api('/athlete/activities', reader.accessToken)).body as Listed[];
    expect(listed.map(({ id }) => String(id))).toEqual([open.id]);
    expect((await api(`/activities/${hidden.id}`, reader.accessToken)).status).toBe(404);
    expect((await api(`/activities/${hidden.id}/streams?keys=time`, reader.accessToken)).status).toBe(404);
  });

  it('has laps, zones and photos beside it', async () => {
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

describe('ids', () => {
  it.each([
    ['beyond 32 bit', '5000000001'],
    ['beyond 2^53', '9007199254740993'],
  ])('%s keep every digit as bare numbers on the wire', async (_size, first) => {
    const { accessToken } = await sim.connect({ activities: 3, first_activity_id: first });
    const { text } = await api('/athlete/activities', accessToken);
    const ids = [...text.matchAll(/"id":(\d{10,}),/g)].map(([, digits]) => digits!);
    expect(ids).toHaveLength(3);
    for (const id of ids) {
      expect(BigInt(id) - BigInt(first)).toBeLessThan(100n);
      expect((await api(`/activities/${id}`, accessToken)).text).toContain(`"id":${id},`);
    }
  });

  it('never meet, even for athletes of the same seed', async () => {
    const twin = await sim.connect({ activities: 120, seed: 7 });
    const listed = await api('/athlete/activities?per_page=200', twin.accessToken);
    const mine = new Set((await list('?per_page=200')).map(({ id }) => id));
    expect((listed.body as Listed[]).filter(({ id }) => mine.has(id))).toEqual([]);
  });
});

describe('PUT /activities/{id}', () => {
  it('changes name, description, type and flags, from JSON or a form', async () => {
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

  it('needs activity:write', async () => {
    const reader = await sim.connect({ scopes: ['activity:read_all'] });
    const { status, body } = await sim.json('PUT', '/api/v3/activities/1', {}, reader.accessToken);
    expect(status).toBe(401);
    expect(body.errors[0].field).toBe('activity:write_permission');
  });

  it('answers a wrong value with 400 and the field', async () => {
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

  it('answers unreadable JSON with 400', async () => {
    const { status } = await sim.call('PUT', '/api/v3/activities/1', {
      headers: { authorization: `Bearer ${athlete.accessToken}`, 'content-type': 'application/json' },
      body: '{"name":',
    });
    expect(status).toBe(400);
  });
});

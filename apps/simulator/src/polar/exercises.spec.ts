import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Harness } from '../simulator.harness.js';
import { openSimulator } from '../wearables/wearable.harness.js';
import { authorized, connect, register, setHabits, train } from './polar.harness.js';

const DAY_MS = 86_400_000;

interface Exercise extends Record<string, unknown> {
  id: string;
  upload_time: string;
  start_time: string;
  start_time_utc_offset: number;
  duration: string;
  distance: number;
}

let sim: Harness;
let athlete: { id: string; token: string };

beforeEach(async () => {
  sim = await openSimulator();
  athlete = await connect(sim);
});
afterEach(() => sim.close());

const get = (path: string, token = athlete.token) => sim.get(`/polar/v3/exercises${path}`, token);
const exercise = async (id: string, query = '') => (await get(`/${id}${query}`)).body as Exercise;
const listed = async (query = '') => (await get(query)).body as Exercise[];
const idsListed = async () => (await listed()).map(({ id }) => id);

describe('list of Polar exercises', () => {
  it('GET /v3/exercises answers a bare array, empty before the first session, or 204 by habit', async () => {
    expect(await get('')).toMatchObject({ status: 200, body: [] });
    await setHabits(sim, { empty_list_status: 204 });
    expect(await get('')).toMatchObject({ status: 204, text: '' });
    const { id } = await train(sim, athlete.id);
    expect(await idsListed()).toEqual([id]);
  });

  it('GET /v3/exercises lists no session that was uploaded before the registration', async () => {
    const late = await authorized(sim, { activities: 20 });
    await train(sim, late.id);
    sim.time.advance(1000);
    await register(sim, late.token);
    expect((await get('', late.token)).body).toEqual([]);
    const { id } = await train(sim, late.id, { start_date: '2026-03-01T08:00:00Z' });
    expect((await get('', late.token)).body).toMatchObject([{ id }]);
  });

  it('the 30 days of GET /v3/exercises count from the upload, for the single exercise too', async () => {
    const old = await train(sim, athlete.id, { start_date: '2026-01-01T08:00:00Z' });
    sim.time.advance(30 * DAY_MS);
    expect(await idsListed()).toEqual([old.id]);
    sim.time.advance(1);
    expect(await idsListed()).toEqual([]);
    expect((await get(`/${old.id}`)).status).toBe(404);
  });

  it('Polar answers XML to a request that does not ask for JSON when the habit without_accept says so', async () => {
    await train(sim, athlete.id);
    await setHabits(sim, { without_accept: 'xml' });
    const ask = (accept: string) =>
      sim.call('GET', '/polar/v3/exercises', {
        headers: { authorization: `Bearer ${athlete.token}`, accept },
      });
    const { headers, text } = await ask('*/*');
    expect(headers.get('content-type')).toContain('application/xml');
    expect(text).toMatch(/^<\?xml version="1.0"\?><answer><id>/);
    expect((await ask('application/json')).body).toHaveLength(1);
  });

  it('GET /v3/exercises lists in the order of the habit list_order', async () => {
    const first = await train(sim, athlete.id);
    sim.time.advance(1000);
    const second = await train(sim, athlete.id);
    expect(await idsListed()).toEqual([first.id, second.id]);
    await setHabits(sim, { list_order: 'newest_first' });
    expect(await idsListed()).toEqual([second.id, first.id]);
  });

  it('GET /v3/exercises has samples, zones and route only when the query asks for them', async () => {
    await train(sim, athlete.id);
    const [plain] = await listed();
    for (const field of ['samples', 'heart_rate_zones', 'route']) expect(plain).not.toHaveProperty(field);
    const [full] = await listed('?samples=true&zones=true&route=true');
    expect(full).toMatchObject({
      samples: expect.any(Array),
      heart_rate_zones: expect.any(Array),
      route: expect.any(Array),
    });
  });

  it('Polar does not deliver a session typed in by hand, unless the habit manual_sessions_delivered is set', async () => {
    const { id } = await train(sim, athlete.id, { manual: true });
    expect(await idsListed()).toEqual([]);
    await setHabits(sim, { manual_sessions_delivered: true });
    const found = await exercise(id, '?samples=true&route=true&zones=true');
    expect(found.has_route).toBe(false);
    for (const field of ['device_id', 'samples', 'route', 'heart_rate_zones'])
      expect(found).not.toHaveProperty(field);
  });
});

describe('a Polar exercise', () => {
  it('a Polar exercise has a text id, its upload time in UTC, its local start without offset, the offset in minutes and an ISO 8601 duration', async () => {
    const { id } = await train(sim, athlete.id, { start_date: '2026-11-17T17:05:02Z' });
    const found = await exercise(id);
    expect(found.id).toMatch(/^[A-Za-z][A-Za-z0-9]{7}$/);
    expect(found.upload_time).toBe('2026-11-18T14:00:00.000Z');
    expect(found.start_time).toMatch(/^2026-11-1[78]T\d\d:05:02$|^2026-11-1[78]T\d\d:\d\d:02$/);
    const utc = Date.parse(`${found.start_time}Z`) - found.start_time_utc_offset * 60_000;
    expect(new Date(utc).toISOString()).toBe('2026-11-17T17:05:02.000Z');
    expect(found.duration).toMatch(/^PT(\d+H)?(\d+M)?([\d.]+S)?$/);
    expect(found.polar_user).toBe(`https://www.polaraccesslink/v3/users/${athlete.id}`);
  });

  it('the durations of Polar exercises mix whole units and plain seconds, with fractions', async () => {
    for (let n = 0; n < 12; n++) await train(sim, athlete.id, { duration_s: 2700 });
    const durations = (await listed()).map(({ duration }) => duration);
    expect(durations.some((text) => /^PT\d+M[\d.]+S$/.test(text))).toBe(true);
    expect(durations.some((text) => /^PT\d{4}(\.\d+)?S$/.test(text))).toBe(true);
    expect(durations.some((text) => text.includes('.'))).toBe(true);
  });

  it('a Polar exercise mixes underscores and hyphens in its field names', async () => {
    const { id } = await train(sim, athlete.id, { duration_s: 2400 });
    const found = await exercise(id, '?zones=true&samples=true');
    expect(found).toMatchObject({
      has_route: true,
      heart_rate: { average: expect.any(Number), maximum: expect.any(Number) },
      'running-index': expect.any(Number),
      training_load_pro: { 'cardio-load': expect.any(Number), 'muscle-load': -1 },
    });
    const [zone] = found.heart_rate_zones as unknown[];
    expect(Object.keys(zone as object)).toEqual(['index', 'lower-limit', 'upper-limit', 'in-zone']);
    const [sample] = found.samples as unknown[];
    expect(Object.keys(sample as object)).toEqual(['recording-rate', 'sample-type', 'data']);
  });

  it.each([
    ['Run', 'RUNNING', 'ROAD_RUNNING'],
    ['TrailRun', 'RUNNING', 'TRAIL_RUNNING'],
    ['Ride', 'CYCLING', 'ROAD_BIKING'],
    ['NordicSki', 'CROSS-COUNTRY_SKIING', 'CROSS-COUNTRY_SKIING'],
    ['Padel', 'OTHER', 'OTHER_INDOOR'],
  ])('Polar names a %s %s and %s, or as the order says', async (sport_type, sport, detailed_sport_info) => {
    const { id } = await train(sim, athlete.id, { sport_type });
    expect(await exercise(id)).toMatchObject({ sport, detailed_sport_info });
    const named = await train(sim, athlete.id, { sport_type, sport: 'OTHER', detailed_sport_info: null });
    expect(await exercise(named.id)).toMatchObject({ sport: 'OTHER', detailed_sport_info: null });
  });

  it('a Polar exercise leaves out the distance, heart rate, load and samples that the session does not have', async () => {
    const { id } = await train(sim, athlete.id, {
      sport_type: 'WeightTraining',
      missing_channels: ['heartrate'],
    });
    const found = await exercise(id, '?samples=true');
    for (const field of ['distance', 'heart_rate', 'running-index', 'training_load', 'samples'])
      expect(found).not.toHaveProperty(field);
    await setHabits(sim, { without_samples: 'empty' });
    expect((await exercise(id, '?samples=true')).samples).toEqual([]);
    const sparse = await train(sim, athlete.id, { sparse: true });
    expect(Object.keys(await exercise(sparse.id))).toEqual([
      'id',
      'upload_time',
      'polar_user',
      'start_time',
      'start_time_utc_offset',
      'duration',
      'sport',
      'detailed_sport_info',
    ]);
  });

  it('Polar answers 404 to an unknown exercise, an exercise of another user and the sub-paths samples and zones', async () => {
    const { id } = await train(sim, athlete.id);
    const other = await connect(sim);
    expect((await get(`/${id}`, other.token)).status).toBe(404);
    expect((await get('/2AC312F')).status).toBe(404);
    expect((await get(`/${id.toLowerCase()}`)).status).toBe(404);
    expect((await get(`/${id}/samples`)).status).toBe(404);
    expect((await get(`/${id}/zones`)).status).toBe(404);
  });

  it('an edited Polar exercise has the new content and a deleted one answers 404, unless the habit edits_and_deletions ignores both', async () => {
    const { id } = await train(sim, athlete.id);
    const patch = (calories: number) => sim.json('PATCH', `/__sim/activities/${id}`, { calories });
    await patch(777);
    expect((await exercise(id)).calories).toBe(777);
    await setHabits(sim, { edits_and_deletions: 'ignored' });
    await patch(888);
    await sim.call('DELETE', `/__sim/activities/${id}`);
    expect((await exercise(id)).calories).toBe(777);
    await setHabits(sim, { edits_and_deletions: 'applied' });
    await sim.call('DELETE', `/__sim/activities/${id}`);
    expect((await get(`/${id}`)).status).toBe(404);
  });

  it('a second fetch of an unchanged Polar exercise counts as a duplicate; a fetch after an edit, of other parts or of the list does not', async () => {
    const { id } = await train(sim, athlete.id);
    const duplicates = async () => (await sim.stats()).polar.duplicate_requests as number;
    await exercise(id);
    await exercise(id, '?samples=true');
    await listed();
    await listed();
    expect(await duplicates()).toBe(0);
    await exercise(id);
    expect(await duplicates()).toBe(1);
    await sim.json('PATCH', `/__sim/activities/${id}`, { calories: 1 });
    await exercise(id);
    expect(await duplicates()).toBe(1);
  });
});

describe('files of a Polar exercise', () => {
  it('a TCX file of Polar is gzipped XML with positions, heart rate and the title cut to 15 characters', async () => {
    const { id } = await train(sim, athlete.id, { name: 'Hills behind the house & back' });
    const { status, headers, text } = await get(`/${id}/tcx`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/vnd.garmin.tcx+xml']);
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(text).toContain('<Notes>Hills behind th</Notes>');
    expect(text).toContain('<LatitudeDegrees>');
    expect(text).toContain('<HeartRateBpm><Value>');
  });

  it('a TCX file of Polar is a gzip file in the body when the habit tcx_gzip says so', async () => {
    const { id } = await train(sim, athlete.id);
    await setHabits(sim, { tcx_gzip: 'body' });
    const answer = await fetch(`${sim.base}/polar/v3/exercises/${id}/tcx`, {
      headers: { authorization: `Bearer ${athlete.token}` },
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(answer.headers.has('content-encoding')).toBe(false);
    expect(gunzipSync(bytes).toString()).toContain('<TrainingCenterDatabase');
  });

  it('a GPX file of Polar has one point per position, and a session without a route answers 404', async () => {
    const { id } = await train(sim, athlete.id);
    const { headers, text } = await get(`/${id}/gpx`);
    expect(headers.get('content-type')).toContain('application/gpx+xml');
    expect(text.match(/<trkpt /g)!.length).toBeGreaterThan(100);
    const indoor = await train(sim, athlete.id, { indoor: true });
    expect((await get(`/${indoor.id}/gpx`)).status).toBe(404);
  });

  it('the FIT path of Polar answers 204, or 404 by habit, because the simulator makes no FIT file', async () => {
    const { id } = await train(sim, athlete.id);
    expect((await get(`/${id}/fit`)).status).toBe(204);
    await setHabits(sim, { no_fit_status: 404 });
    expect((await get(`/${id}/fit`)).status).toBe(404);
    expect((await get('/unknown/fit')).status).toBe(404);
  });
});

describe('POST /__sim/activities with same_as', () => {
  it('POST /__sim/activities with same_as records the workout of a Strava activity at Polar: start within 30 s, duration within 2 %, distance within 1 %', async () => {
    const strava = await sim.connect({ activities: 12 });
    const { body: activities } = await sim.get('/api/v3/athlete/activities?per_page=12', strava.accessToken);
    for (const one of activities as {
      id: number;
      start_date: string;
      elapsed_time: number;
      distance: number;
      manual: boolean;
    }[]) {
      if (one.manual) continue;
      const made = await train(sim, athlete.id, { same_as: String(one.id) });
      const found = await exercise(made.id);
      const startMs = Date.parse(`${found.start_time}Z`) - found.start_time_utc_offset * 60_000;
      expect(Math.abs(startMs - Date.parse(one.start_date))).toBeLessThanOrEqual(30_000);
      expect(Math.abs(secondsOf(found.duration) / one.elapsed_time - 1)).toBeLessThan(0.0215);
      if (one.distance > 0) expect(Math.abs(found.distance / one.distance - 1)).toBeLessThan(0.0105);
    }
    expect((await listed()).length).toBeGreaterThan(8);
  });

  it('POST /__sim/activities with same_as takes start_shift_s, duration_percent and distance_percent, and the Strava activity stays as it was', async () => {
    const strava = await sim.connect({ activities: 0 });
    const order = {
      athlete_id: strava.id,
      distance_m: 5000,
      duration_s: 1500,
      start_date: '2026-11-18T08:00:00Z',
    };
    const origin = await sim.sim('/activities', order);
    const twin = { same_as: origin.id, start_shift_s: 12, duration_percent: 3, distance_percent: -1 };
    const made = await train(sim, athlete.id, twin);
    expect(made.start_date).toBe('2026-11-18T08:00:12Z');
    const found = await exercise(made.id);
    expect(found.device_id).toBe((await exercise((await train(sim, athlete.id)).id)).device_id);
    expect(Math.floor(secondsOf(found.duration))).toBe(Math.round(1.03 * 1500));
    expect(found.distance).toBeCloseTo(4950, 0);
    const { body } = await sim.get(`/__sim/activities/${origin.id}`);
    expect(body).toMatchObject({ start_date: '2026-11-18T08:00:00Z', elapsed_time_s: 1500 });
  });

  it('POST /__sim/activities answers 400 to same_as with an id that no activity has', async () => {
    const { status, body } = await sim.json('POST', '/__sim/activities', {
      athlete_id: athlete.id,
      same_as: '1',
    });
    expect([status, body.details]).toEqual([400, ['same_as: there is no activity 1']]);
  });
});

/** Seconds of an ISO 8601 duration. */
function secondsOf(duration: string): number {
  const [, hours = '0', minutes = '0', seconds = '0'] = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(
    duration,
  )!;
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connected, type Harness } from '../simulator.harness.js';
import { connect, openSimulator } from '../wearables/wearable.harness.js';

const BASE = '/oura/v2/usercollection';

let sim: Harness;
let athlete: Connected;

beforeEach(async () => {
  sim = await openSimulator();
  athlete = await connect(sim, 'oura', { seed: 7 });
});
afterEach(() => sim.close());

interface Series {
  interval: number;
  items: unknown[];
  timestamp: string;
}

/** The fields that these tests read. */
interface Sleep extends Record<string, unknown> {
  id: string;
  day: string;
  type: string;
  bedtime_start: string;
  bedtime_end: string;
  time_in_bed: number;
  total_sleep_duration: number;
  deep_sleep_duration: number;
  rem_sleep_duration: number;
  light_sleep_duration: number;
  awake_time: number;
  heart_rate: Series;
  hrv: Series;
}

interface Daily extends Record<string, unknown> {
  id: string;
  score: number | null;
  contributors: Record<string, number>;
}

function sync(order: Record<string, unknown> = {}) {
  return sim.sim('/sleep', { athlete_id: athlete.id, ...order }) as Promise<{ id: string; document: Sleep }>;
}

function get(path: string, token = athlete.accessToken) {
  return sim.get(BASE + path, token);
}

async function sleepOf(order: Record<string, unknown>) {
  const { id } = await sync(order);
  return (await get(`/sleep/${id}`)).body as Sleep;
}

async function dayOf(day: string) {
  const { body } = await get(`/daily_sleep?start_date=${day}&end_date=${day}`);
  return body.data[0] as Daily;
}

describe('Oura sleep document', () => {
  it('an Oura sleep always has id, meta, bedtime_start, bedtime_end, day, low_battery_alert, period and time_in_bed', async () => {
    for (const sparse of [false, true]) {
      expect(await sleepOf({ sparse })).toMatchObject({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        meta: { version: 1, updated_at: '2026-11-18T14:00:00.000Z' },
        bedtime_start: expect.any(String),
        bedtime_end: expect.any(String),
        day: '2026-11-18',
        low_battery_alert: false,
        period: 0,
        time_in_bed: expect.any(Number),
      });
    }
  });

  it('the stages of an Oura sleep add up to total_sleep_duration in seconds, and together with awake_time to time_in_bed', async () => {
    const sleep = await sleepOf({ duration_minutes: 415 });
    const { deep_sleep_duration, rem_sleep_duration, light_sleep_duration } = sleep;
    expect(sleep.total_sleep_duration).toBe(415 * 60);
    expect(deep_sleep_duration + rem_sleep_duration + light_sleep_duration).toBe(415 * 60);
    expect(sleep.total_sleep_duration + sleep.awake_time).toBe(sleep.time_in_bed);
    expect((Date.parse(sleep.bedtime_end) - Date.parse(sleep.bedtime_start)) / 1000).toBe(sleep.time_in_bed);
  });

  it('an Oura sleep has an integer efficiency of 1 to 100, an integer average_hrv and an integer lowest_heart_rate', async () => {
    const sleep = await sleepOf({});
    for (const name of ['efficiency', 'average_hrv', 'lowest_heart_rate']) {
      expect(Number.isInteger(sleep[name])).toBe(true);
    }
    expect(sleep.efficiency).toBeGreaterThanOrEqual(1);
    expect(sleep.efficiency).toBeLessThanOrEqual(100);
  });

  it('an Oura sleep has fractions in average_heart_rate and average_breath', async () => {
    const nights = await Promise.all(
      ['14', '15', '16', '17'].map((day) => sleepOf({ date: `2026-11-${day}` })),
    );
    for (const name of ['average_heart_rate', 'average_breath']) {
      expect(nights.every((night) => typeof night[name] === 'number')).toBe(true);
      expect(nights.some((night) => !Number.isInteger(night[name]))).toBe(true);
    }
  });

  it("an Oura sleep has every field of the example in the vendor's documents", async () => {
    const sleep = await sleepOf({});
    expect(Object.keys(sleep).sort()).toEqual(
      (
        'app_sleep_phase_5_min average_breath average_heart_rate average_hrv awake_time bedtime_end bedtime_start day ' +
        'deep_sleep_duration efficiency heart_rate hrv id latency light_sleep_duration low_battery_alert ' +
        'lowest_heart_rate meta movement_30_sec period readiness readiness_score_delta rem_sleep_duration ' +
        'restless_periods ring_id sleep_algorithm_version sleep_analysis_reason sleep_phase_30_sec sleep_phase_5_min ' +
        'sleep_score_delta time_in_bed total_sleep_duration type'
      ).split(' '),
    );
    expect(sleep.readiness).toMatchObject({
      score: expect.any(Number),
      temperature_deviation: expect.any(Number),
      temperature_trend_deviation: expect.any(Number),
      contributors: { previous_night: expect.any(Number), hrv_balance: expect.any(Number) },
    });
  });

  it('the phase digits of an Oura sleep mean 1 deep, 2 light, 3 REM and 4 awake', async () => {
    const sleep = await sleepOf({ duration_minutes: 415 });
    const digits = [...(sleep.sleep_phase_30_sec as string)];
    const secondsOf = (digit: string) => 30 * digits.filter((one) => one === digit).length;
    expect(['1', '2', '3', '4'].map(secondsOf)).toEqual([
      sleep.deep_sleep_duration,
      sleep.light_sleep_duration,
      sleep.rem_sleep_duration,
      sleep.awake_time,
    ]);
  });

  it('an Oura sleep has phases and movement in the digits 1 to 4, and series with a value or null every 300 s', async () => {
    const sleep = await sleepOf({});
    expect(sleep.sleep_phase_5_min).toMatch(/^[1-4]+$/);
    expect(sleep.sleep_phase_30_sec).toMatch(/^[1-4]+$/);
    expect(sleep.movement_30_sec).toMatch(/^[1-4]+$/);
    expect(sleep.sleep_phase_30_sec).toHaveLength(sleep.time_in_bed / 30);
    for (const series of [sleep.heart_rate, sleep.hrv]) {
      expect(series).toMatchObject({ interval: 300, timestamp: sleep.bedtime_start });
      expect(series.items.every((item) => item === null || typeof item === 'number')).toBe(true);
    }
  });

  it('an Oura sleep carries the local offset, and its day is the day of waking', async () => {
    const sleep = await sleepOf({ date: '2026-11-15' });
    expect(sleep.bedtime_end).toMatch(/^2026-11-15T\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/);
    expect(sleep.bedtime_start).toMatch(/^2026-11-14T/);
    expect(sleep.day).toBe('2026-11-15');
  });

  it('an Oura sleep document has no score, even if the order contains a score', async () => {
    expect(await sleepOf({ score: 82 })).not.toHaveProperty('score');
  });

  it.each([
    ['long_sleep', { duration_minutes: 181 }],
    ['sleep', { duration_minutes: 180 }],
    ['sleep', { duration_minutes: 15, nap: true, ends_at: '2026-11-17T12:00:00Z' }],
    ['rest', { duration_minutes: 14, nap: true, ends_at: '2026-11-17T12:00:00Z' }],
    ['sleep', { duration_minutes: 45, nap: true, ends_at: '2026-11-17T12:00:00Z' }],
    ['rest', { type: 'rest' }],
    ['deleted', { type: 'deleted' }],
  ])('an Oura sleep has the type %s when ordered as %j', async (type, order) => {
    expect((await sleepOf(order)).type).toBe(type);
  });

  it('an Oura nap that ends after 18:00 is a late_nap and counts for the next day', async () => {
    const probe = await sleepOf({ nap: true, duration_minutes: 30, ends_at: '2026-11-17T12:00:00Z' });
    const offset = probe.bedtime_end.slice(-6);
    const nap = await sleepOf({ nap: true, duration_minutes: 30, ends_at: `2026-11-17T19:00:00${offset}` });
    expect(nap.type).toBe('late_nap');
    expect(nap.day).toBe('2026-11-18');
  });

  it('a sparse Oura sleep has null or no value in optional fields', async () => {
    const sleep = await sleepOf({ sparse: true });
    expect(sleep).toMatchObject({ average_hrv: null, heart_rate: null, readiness: null });
    expect(sleep).not.toHaveProperty('deep_sleep_duration');
  });

  it('a revision of an Oura sleep raises meta.version and meta.updated_at and keeps the id', async () => {
    const { id } = await sync();
    for (const version of [2, 3]) {
      const before = (await get(`/sleep/${id}`)).body;
      await sim.json('PATCH', `/__sim/sleep/${id}`, { duration_minutes: 300 + version });
      const { body } = await get(`/sleep/${id}`);
      expect(body).toMatchObject({ id, meta: { version }, total_sleep_duration: (300 + version) * 60 });
      expect(body.meta.updated_at > before.meta.updated_at).toBe(true);
    }
  });

  it('the same seed gives the same Oura sleep document', async () => {
    const twin = await openSimulator();
    const other = await connect(twin, 'oura', { seed: 7 });
    const { document } = await twin.sim('/sleep', { athlete_id: other.id });
    expect((await sync()).document).toEqual(document);
    await twin.close();
  });
});

describe('Oura daily_sleep document', () => {
  it('an Oura daily_sleep has the score and seven contributors of 1 to 100', async () => {
    await sync({ score: 82 });
    const daily = await dayOf('2026-11-18');
    expect(daily).toMatchObject({ day: '2026-11-18', score: 82, meta: { version: 1 } });
    expect(daily.timestamp).toMatch(/^2026-11-18T00:00:00\.000[+-]\d\d:\d\d$/);
    const names = [
      'deep_sleep',
      'efficiency',
      'latency',
      'rem_sleep',
      'restfulness',
      'timing',
      'total_sleep',
    ];
    expect(Object.keys(daily.contributors).sort()).toEqual(names);
    for (const name of names) {
      expect(daily.contributors[name]).toBeGreaterThanOrEqual(1);
      expect(daily.contributors[name]).toBeLessThanOrEqual(100);
    }
    expect((await get(`/daily_sleep/${daily.id}`)).body).toEqual(daily);
  });

  it('an Oura daily_sleep without a score has null contributors', async () => {
    await sync({ score: null });
    expect(await dayOf('2026-11-18')).toMatchObject({ score: null, contributors: { total_sleep: null } });
  });

  it('a nap of an hour raises the score in the Oura daily_sleep by two and the version by one', async () => {
    await sync({ score: 80 });
    const before = await dayOf('2026-11-18');
    await sync({ nap: true, duration_minutes: 60, date: '2026-11-18', ends_at: '2026-11-18T13:00:00Z' });
    const after = await dayOf('2026-11-18');
    expect(after).toMatchObject({ id: before.id, score: 82, meta: { version: 2 } });
  });

  it('an Oura daily_sleep has no score if the night has type deleted, and answers 404 if the day has no sleep', async () => {
    const { id } = await sync({ score: 80 });
    const { id: dailyId } = await dayOf('2026-11-18');
    await sim.json('PATCH', `/__sim/sleep/${id}`, { type: 'deleted' });
    expect((await dayOf('2026-11-18')).score).toBeNull();
    await sim.call('DELETE', `/__sim/sleep/${id}`);
    expect((await get(`/daily_sleep/${dailyId}`)).status).toBe(404);
  });
});

describe('Oura list', () => {
  it('an Oura list answers {data, next_token}, includes start_date and end_date, and has next_token null on the last page', async () => {
    for (const date of ['2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13']) await sync({ date });
    const { body } = await get('/sleep?start_date=2026-11-11&end_date=2026-11-12');
    expect(body.next_token).toBeNull();
    expect((body.data as Sleep[]).map(({ day }) => day)).toEqual(['2026-11-11', '2026-11-12']);
  });

  it('an Oura list pages by next_token without gap or overlap', async () => {
    const sleeper = await connect(sim, 'oura', { nights: 120 });
    const ids = new Set<string>();
    let token: string | null = '';
    let pages = 0;
    while (token !== null) {
      const path: string = `/sleep?start_date=2026-01-01&end_date=2026-11-18&next_token=${token}`;
      const { body } = await get(path, sleeper.accessToken);
      for (const { id } of body.data) ids.add(id);
      token = body.next_token;
      pages++;
    }
    expect(ids.size).toBe(120);
    expect(pages).toBe(3);
  });

  it('an Oura list with ?fields answers only the named fields and the id', async () => {
    await sync();
    const { body } = await get('/sleep?start_date=2026-11-18&end_date=2026-11-18&fields=day,type');
    expect(Object.keys(body.data[0]).sort()).toEqual(['day', 'id', 'type']);
  });

  it.each(['/oura/v2/usercollection', '/oura/v2/sandbox/usercollection'])(
    'an Oura list of %s takes the written date of a date-time with any offset, and reads a number as epoch seconds',
    async (base) => {
      const list = async (range: string) => {
        const { status, text } = await sim.get(`${base}/sleep?${range}`, athlete.accessToken);
        expect(status).toBe(200);
        return text;
      };
      const days = await list('start_date=2026-11-11&end_date=2026-11-12');
      const moments = 'start_date=2026-11-11T23:30:00-08:00&end_date=2026-11-12T00:00:00Z';
      expect(await list(encodeURI(moments))).toBe(days);
      expect(await list('start_date=1&end_date=2')).toBe('{"data":[],"next_token":null}');
    },
  );

  it.each(['2026-13-01', '2026-02-30', '2026-11-18T25:00:00Z', '2026-11-18Tx'])(
    'an Oura list answers 422 with the message of pydantic 2 to the start_date %s',
    async (start_date) => {
      const { status, body } = await get(`/sleep?start_date=${start_date}`);
      expect(status).toBe(422);
      expect(body.detail).toEqual([
        {
          type: 'date_from_datetime_parsing',
          loc: ['query', 'start_date'],
          msg: expect.stringMatching(/^Input should be a valid date or datetime/),
          input: start_date,
          ctx: { error: expect.any(String) },
          url: 'https://errors.pydantic.dev/2.7/v/date_from_datetime_parsing',
        },
      ]);
    },
  );

  it('an Oura list answers 422 to a malformed date, and 400 to a backward range or an invalid next_token', async () => {
    const { status, body } = await get('/sleep?start_date=18.11.2026');
    expect(status).toBe(422);
    expect(body.detail[0].loc).toEqual(['query', 'start_date']);
    expect((await get('/sleep?start_date=2026-11-18&end_date=2026-11-01')).status).toBe(400);
    expect((await get('/sleep?next_token=nonsense')).status).toBe(400);
  });

  it('each Oura list has a sandbox route that answers the same data each time without a token', async () => {
    for (const route of ['sleep', 'daily_sleep']) {
      const path = `/oura/v2/sandbox/usercollection/${route}?start_date=2026-11-01&end_date=2026-11-10`;
      const first = await sim.get(path);
      expect(first.status).toBe(200);
      expect(first.body.data.length).toBeGreaterThan(8);
      expect((await sim.get(path)).text).toBe(first.text);
      const [document] = first.body.data;
      expect((await sim.get(`/oura/v2/sandbox/usercollection/${route}/${document.id}`)).body).toEqual(
        document,
      );
    }
  });
});

describe('refusals of Oura', () => {
  it('Oura answers 404 to an unknown document and to the document of another person', async () => {
    const { id } = await sync();
    const stranger = await connect(sim, 'oura');
    expect((await get('/sleep/6f1c9a52-0d5e-4b0e-9a3e-3b1f6c2d7e11')).status).toBe(404);
    const { status, body } = await get(`/sleep/${id}`, stranger.accessToken);
    expect(status).toBe(404);
    expect(body).toEqual({ detail: 'Document not found.' });
  });

  it.each([undefined, 'not-a-token'])('Oura answers 401 to the token %s', async (token) => {
    const { status, body } = await sim.get(`${BASE}/sleep`, token);
    expect(status).toBe(401);
    expect(body).toMatchObject({ status: 401, title: 'Unauthorized' });
  });

  it('Oura answers 401 to an expired and to a revoked token', async () => {
    sim.time.advance(86_400_000);
    expect((await get('/sleep')).status).toBe(401);
    const other = await connect(sim, 'oura');
    await sim.sim('/deauthorize', { athlete_id: other.id });
    expect((await get('/sleep', other.accessToken)).status).toBe(401);
  });

  it('Oura answers 429 with status and title to a call over the limit', async () => {
    await sim.sim('/limits', { vendor: 'oura', token: 0 });
    const { status, body } = await get('/sleep');
    expect(status).toBe(429);
    expect(body).toMatchObject({ status: 429, title: 'Too Many Requests' });
  });

  it('Oura answers 404 to an unknown route and to a path that cannot be decoded', async () => {
    expect((await get('/sleep/%zz')).status).toBe(404);
    expect(await get('/heartrate%2F')).toMatchObject({ status: 404, body: { detail: 'Not Found' } });
  });

  it('Oura answers 403 under the fault membership_expired', async () => {
    await sim.sim('/faults', { vendor: 'oura', kind: 'membership_expired', count: 1 });
    expect((await get('/sleep')).status).toBe(403);
    expect((await get('/sleep')).status).toBe(200);
  });

  it('Oura answers a token without the scope daily with 401 and the name of the scope, or with 403 if missing_scope_status is 403', async () => {
    const modest = await connect(sim, 'oura', { scopes: ['personal'] });
    const { status, body } = await get('/sleep', modest.accessToken);
    expect(status).toBe(401);
    expect(body).toEqual({ detail: 'Token is not authorized access daily scope.' });
    await sim.json('PUT', '/oura/__sim/habits', { missing_scope_status: 403 });
    expect((await get('/sleep', modest.accessToken)).status).toBe(403);
    expect((await get('/personal_info', modest.accessToken)).body).toMatchObject({
      id: modest.id,
      email: null,
    });
  });
});

describe('duplicate requests at Oura', () => {
  it('a second fetch of an Oura document counts as a duplicate, but the first fetch of a revision does not', async () => {
    const { id } = await sync();
    const duplicates = async () => (await sim.stats()).oura.duplicate_requests as number;
    await get(`/sleep/${id}`);
    await sim.json('PATCH', `/__sim/sleep/${id}`, { duration_minutes: 300 });
    await get(`/sleep/${id}`);
    expect(await duplicates()).toBe(0);
    await get(`/sleep/${id}`);
    expect(await duplicates()).toBe(1);
  });
});

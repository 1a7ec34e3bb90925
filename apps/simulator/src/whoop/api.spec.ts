import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connected, type Harness } from '../simulator.harness.js';
import { connect, openSimulator } from '../wearables/wearable.harness.js';
import { timezoneOffset } from './sleep-document.js';

const BASE = '/whoop/v2';

let sim: Harness;
let athlete: Connected;

beforeEach(async () => {
  sim = await openSimulator();
  athlete = await connect(sim, 'whoop', { seed: 3 });
});
afterEach(() => sim.close());

function record(order: Record<string, unknown> = {}) {
  return sim.sim('/sleep', { athlete_id: athlete.id, ...order }) as Promise<{ id: string }>;
}

/** The fields that these tests read. */
interface Sleep {
  id: string;
  cycle_id: number;
  start: string;
  end: string;
  score: Record<'stage_summary' | 'sleep_needed', Record<string, number>>;
}

function get(path: string, token = athlete.accessToken) {
  return sim.get(BASE + path, token);
}

async function sleepOf(order: Record<string, unknown> = {}) {
  const { id } = await record(order);
  return (await get(`/activity/sleep/${id}`)).body as Sleep;
}

describe('WHOOP sleep document', () => {
  it('a WHOOP sleep always has id, cycle_id, user_id, created_at, updated_at, start, end, timezone_offset, nap, score_state', async () => {
    expect(await sleepOf({ state: 'PENDING_SCORE' })).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      cycle_id: expect.any(Number),
      user_id: Number(athlete.id),
      created_at: '2026-11-18T14:00:00.000Z',
      updated_at: '2026-11-18T14:00:00.000Z',
      start: expect.stringMatching(/Z$/),
      end: expect.stringMatching(/Z$/),
      timezone_offset: expect.stringMatching(/^([+-]\d\d:\d\d|Z)$/),
      nap: false,
      score_state: 'PENDING_SCORE',
    });
  });

  it('the stages of a WHOOP sleep are milliseconds that add up to the time in bed', async () => {
    const { start, end, score } = await sleepOf({ duration_minutes: 433 });
    const stages = score.stage_summary;
    const asleep = ['light', 'slow_wave', 'rem']
      .map((stage) => stages[`total_${stage}_sleep_time_milli`]!)
      .reduce((sum, milli) => sum + milli);
    expect(asleep).toBe(433 * 60_000);
    expect(asleep + stages.total_awake_time_milli!).toBe(stages.total_in_bed_time_milli);
    expect(Date.parse(end) - Date.parse(start)).toBe(stages.total_in_bed_time_milli);
    expect(score.sleep_needed).toEqual({
      baseline_milli: expect.any(Number),
      need_from_sleep_debt_milli: expect.any(Number),
      need_from_recent_strain_milli: expect.any(Number),
      need_from_recent_nap_milli: expect.any(Number),
    });
  });

  it("a WHOOP sleep has every field of the vendor's example, and whole numbers in stages and needs", async () => {
    const sleep = await sleepOf({ score: 97 });
    expect(Object.keys(sleep)).toEqual(
      'id cycle_id user_id created_at updated_at start end timezone_offset nap score_state score'.split(' '),
    );
    expect(Object.keys(sleep.score.stage_summary).sort()).toEqual([
      'disturbance_count',
      'sleep_cycle_count',
      'total_awake_time_milli',
      'total_in_bed_time_milli',
      'total_light_sleep_time_milli',
      'total_no_data_time_milli',
      'total_rem_sleep_time_milli',
      'total_slow_wave_sleep_time_milli',
    ]);
    const numbers = Object.values({ ...sleep.score.stage_summary, ...sleep.score.sleep_needed });
    expect(numbers.every((number) => Number.isInteger(number))).toBe(true);
  });

  it('timezoneOffset writes ±hh:mm, and Z for UTC', () => {
    expect([120, -330, 0].map(timezoneOffset)).toEqual(['+02:00', '-05:30', 'Z']);
  });

  it('a sparse WHOOP sleep lacks the percentages and respiratory_rate in its score', async () => {
    const { score } = await sleepOf({ sparse: true });
    expect(Object.keys(score).sort()).toEqual(['sleep_needed', 'stage_summary']);
    expect((await sleepOf({ score: 97 })).score).toMatchObject({
      sleep_performance_percentage: 97,
      sleep_consistency_percentage: expect.any(Number),
      sleep_efficiency_percentage: expect.any(Number),
      respiratory_rate: expect.any(Number),
    });
  });

  it('a WHOOP nap belongs to the cycle of the previous night', async () => {
    const night = await sleepOf({ date: '2026-11-18' });
    const nap = await sleepOf({ nap: true });
    expect(nap).toMatchObject({ nap: true, cycle_id: night.cycle_id });
    const { body } = await get(`/cycle/${night.cycle_id}/sleep`);
    expect(body).toEqual(night);
  });

  it('a WHOOP cycle lasts from one sleep onset to the next, and the present cycle has no end', async () => {
    const first = await sleepOf({ date: '2026-11-17' });
    await sleepOf({ nap: true, date: '2026-11-17', ends_at: '2026-11-17T13:00:00Z' });
    const second = await sleepOf({ date: '2026-11-18' });
    const { records } = (await get('/cycle')).body;
    expect(records).toEqual([
      {
        id: second.cycle_id,
        user_id: Number(athlete.id),
        created_at: expect.any(String),
        updated_at: expect.any(String),
        start: second.start,
        timezone_offset: expect.any(String),
        score_state: 'SCORED',
        score: {
          strain: expect.any(Number),
          kilojoule: expect.any(Number),
          average_heart_rate: expect.any(Number),
          max_heart_rate: expect.any(Number),
        },
      },
      expect.objectContaining({ id: first.cycle_id, start: first.start, end: second.start }),
    ]);
    expect((await get(`/cycle/${first.cycle_id}`)).body).toEqual(records[1]);
    expect((await get('/cycle/1')).status).toBe(404);
    expect((await get('/cycle/today')).status).toBe(400);
  });

  it('the recovery of a WHOOP cycle has the id of the main sleep', async () => {
    const night = await sleepOf();
    const { body } = await get(`/cycle/${night.cycle_id}/recovery`);
    expect(body).toMatchObject({ sleep_id: night.id, cycle_id: night.cycle_id, score_state: 'SCORED' });
    expect(body.score).toMatchObject({ recovery_score: expect.any(Number), user_calibrating: false });
    expect((await get('/recovery')).body).toEqual({ records: [body] });
  });
});

describe('WHOOP list', () => {
  it('a WHOOP list pages by nextToken without gap or overlap, and the last page has no next_token', async () => {
    const sleeper = await connect(sim, 'whoop', { nights: 60 });
    const seen: string[] = [];
    let token: string | undefined = '';
    while (token !== undefined) {
      const { body } = await get(`/activity/sleep?limit=25&nextToken=${token}`, sleeper.accessToken);
      seen.push(...(body.records as Sleep[]).map(({ start }) => start));
      token = body.next_token;
    }
    expect(new Set(seen).size).toBe(60);
    expect(seen).toEqual([...seen].sort().reverse());
  });

  it('a WHOOP list answers ten records by default', async () => {
    const sleeper = await connect(sim, 'whoop', { nights: 12 });
    expect((await get('/activity/sleep', sleeper.accessToken)).body.records).toHaveLength(10);
  });

  it.each(['26', '0', 'many'])('a WHOOP list answers 400 to the limit %s', async (limit) => {
    expect((await get(`/activity/sleep?limit=${limit}`)).status).toBe(400);
  });

  it('a WHOOP list is bounded by start and end, and answers 400 to a wrong date-time and a foreign nextToken', async () => {
    await record({ date: '2026-11-10' });
    await record({ date: '2026-11-14' });
    const { body } = await get('/activity/sleep?start=2026-11-12T00:00:00Z&end=2026-11-15T00:00:00.000Z');
    expect(body.records).toHaveLength(1);
    expect((await get('/activity/sleep?start=yesterday')).status).toBe(400);
    expect((await get('/activity/sleep?nextToken=foreign')).status).toBe(400);
  });
});

describe('start and end of a WHOOP list', () => {
  it.each(['/activity/sleep', '/recovery'])(
    'a WHOOP range of %s includes the night in progress at start and at end',
    async (list) => {
      const { start, end } = await sleepOf({ date: '2026-11-18' });
      const middle = new Date((Date.parse(start) + Date.parse(end)) / 2).toISOString();
      const count = async (range: string) =>
        ((await get(`${list}?${range}`)).body.records as unknown[]).length;
      expect(await count(`start=${middle}`)).toBe(1);
      expect(await count(`end=${middle}`)).toBe(1);
      expect(await count(`start=${end}`)).toBe(0);
      expect(await count(`end=${start}`)).toBe(0);
    },
  );

  it('a WHOOP range of cycles includes the present cycle', async () => {
    const { cycle_id } = await sleepOf({ date: '2026-11-18' });
    const { records } = (await get('/cycle?start=2026-11-18T13:00:00Z')).body;
    expect(records).toMatchObject([{ id: cycle_id }]);
  });
});

describe('refusals of WHOOP', () => {
  it('WHOOP answers 404 to an unknown sleep and to the sleep of another person, and 400 to an id that is no UUID', async () => {
    const { id } = await record();
    const stranger = await connect(sim, 'whoop');
    expect((await get('/activity/sleep/ecfc6a15-4661-442f-a9a4-f160dd7afae8')).status).toBe(404);
    expect((await get(`/activity/sleep/${id}`, stranger.accessToken)).status).toBe(404);
    expect((await get('/activity/sleep/93845')).status).toBe(400);
    expect((await get('/cycle/1/sleep')).status).toBe(404);
  });

  it('WHOOP answers 401 "Authorization was not valid" to a missing, unknown or expired token', async () => {
    const { status, text } = await sim.get(`${BASE}/activity/sleep`);
    expect(status).toBe(401);
    expect(text).toBe('Authorization was not valid');
    expect((await get('/activity/sleep', 'unknown')).status).toBe(401);
    sim.time.advance(3_600_000);
    expect((await get('/activity/sleep')).status).toBe(401);
  });

  it.each([
    ['read:sleep', '/activity/sleep'],
    ['read:recovery', '/recovery'],
    ['read:profile', '/user/profile/basic'],
    ['read:cycles', '/cycle'],
    ['read:body_measurement', '/user/measurement/body'],
  ])('a token without %s gets 401 from WHOOP for %s', async (scope, path) => {
    const modest = await connect(sim, 'whoop', { scopes: ['offline', 'read:workout'] });
    const trusted = await connect(sim, 'whoop', { scopes: [scope] });
    expect((await get(path, modest.accessToken)).status).toBe(401);
    expect((await get(path, trusted.accessToken)).status).toBe(200);
  });

  it('WHOOP answers 429 and 500 in plain text', async () => {
    await sim.sim('/faults', { vendor: 'whoop', endpoint: 'sleep', kind: 'http_429', count: 1 });
    await sim.sim('/faults', { vendor: 'whoop', endpoint: 'sleep', kind: 'http_500', count: 1 });
    const answers = [await get('/activity/sleep'), await get('/activity/sleep')];
    expect(answers.map(({ status }) => status)).toEqual([429, 500]);
    for (const { headers, text } of answers) {
      expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(text).toMatch(/^[A-Z][a-z ]+$/);
    }
  });

  it('WHOOP answers 404 to an unknown route and 400 to a path that cannot be decoded', async () => {
    expect(await get('/activity/sleep/%zz')).toMatchObject({ status: 400 });
    expect(await get('/webhooks')).toMatchObject({ status: 404, text: 'No resource found' });
  });

  it('the WHOOP body measurement has height, weight and maximum heart rate', async () => {
    expect((await get('/user/measurement/body')).body).toEqual({
      height_meter: expect.any(Number),
      weight_kilogram: expect.any(Number),
      max_heart_rate: expect.any(Number),
    });
  });

  it('the WHOOP profile has user_id, email and both names', async () => {
    expect((await get('/user/profile/basic')).body).toEqual({
      user_id: Number(athlete.id),
      email: expect.stringContaining('@'),
      first_name: expect.any(String),
      last_name: expect.any(String),
    });
  });
});

describe('duplicate requests at WHOOP', () => {
  it('a second fetch of a WHOOP sleep counts as a duplicate, but the first fetch after a revision does not', async () => {
    const { id } = await record();
    const duplicates = async () => (await sim.stats()).whoop.duplicate_requests as number;
    await get(`/activity/sleep/${id}`);
    await sim.json('PATCH', `/__sim/sleep/${id}`, { score: 70 });
    await get(`/activity/sleep/${id}`);
    expect(await duplicates()).toBe(0);
    await get(`/activity/sleep/${id}`);
    expect(await duplicates()).toBe(1);
  });
});

describe('rate limit of WHOOP', () => {
  it('WHOOP allows 100 calls a minute and 10,000 a day per app and sends its rate headers on every answer', async () => {
    sim.time.advance(57_000);
    await get('/user/profile/basic');
    const { headers } = await get('/activity/sleep/ecfc6a15-4661-442f-a9a4-f160dd7afae8');
    expect(headers.get('x-ratelimit-limit')).toBe('100, 100;window=60, 10000;window=86400');
    expect(headers.get('x-ratelimit-remaining')).toBe('98');
    expect(headers.get('x-ratelimit-reset')).toBe('3');
  });

  it('WHOOP answers 429 without Retry-After to calls over the limit until the next minute', async () => {
    await sim.sim('/limits', { vendor: 'whoop', minute: 2 });
    const other = await connect(sim, 'whoop');
    await get('/user/profile/basic');
    await get('/user/profile/basic', other.accessToken);
    const { status, headers } = await get('/user/profile/basic');
    expect(status).toBe(429);
    expect(headers.has('retry-after')).toBe(false);
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
    sim.time.advance(60_000);
    expect((await get('/user/profile/basic')).status).toBe(200);
  });

  it("WHOOP's rate headers begin with the limit that has the fewest remaining calls", async () => {
    await sim.sim('/limits', { vendor: 'whoop', day: 50 });
    const { headers } = await get('/user/profile/basic');
    expect(headers.get('x-ratelimit-limit')).toBe('50, 100;window=60, 50;window=86400');
    expect(headers.get('x-ratelimit-remaining')).toBe('49');
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, Harness } from '../simulator.harness.js';

let sim: Harness;
let accessToken: string;

async function open(options: Parameters<typeof Harness.open>[0] = {}): Promise<void> {
  sim = await Harness.open(options);
  ({ accessToken } = await sim.connect());
}

beforeEach(() => open());
afterEach(() => sim.close());

const QUARTER_MS = 900_000;

function athlete(): Promise<Answer> {
  return sim.get('/api/v3/athlete', accessToken);
}

function rates({ headers }: Answer): Record<string, string | null> {
  return {
    limit: headers.get('x-ratelimit-limit'),
    usage: headers.get('x-ratelimit-usage'),
    readLimit: headers.get('x-readratelimit-limit'),
    readUsage: headers.get('x-readratelimit-usage'),
  };
}

async function exhaust(calls: number): Promise<Answer> {
  for (let call = 1; call < calls; call++) await athlete();
  return athlete();
}

describe("Strava's limits of the default tier", () => {
  it("Strava's limits are 200 and 2,000 overall, 100 and 1,000 read, in four headers of two numbers", async () => {
    expect(rates(await athlete())).toEqual({
      limit: '200,2000',
      usage: '1,1',
      readLimit: '100,1000',
      readUsage: '1,1',
    });
  });

  it('Strava answers 429 with the four headers and no Retry-After to the 101st read in a window', async () => {
    expect((await exhaust(100)).status).toBe(200);
    const refused = await athlete();
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      message: 'Rate Limit Exceeded',
      errors: [{ resource: 'Application', field: 'overall rate limit', code: 'exceeded' }],
    });
    expect(rates(refused)).toMatchObject({ readUsage: '101,101', usage: '101,101' });
    expect(refused.headers.get('retry-after')).toBeNull();
  });

  it('Strava answers 429 if only the overall limit is exceeded', async () => {
    await sim.sim('/limits', { vendor: 'strava', overall_15min: 1 });
    expect((await athlete()).status).toBe(200);
    expect((await athlete()).status).toBe(429);
  });

  it('Strava counts refused calls towards the day, and answers 429 until the day ends', async () => {
    await sim.sim('/limits', { vendor: 'strava', read_15min: 2, read_day: 4 });
    await exhaust(4);
    sim.time.advance(QUARTER_MS);
    const refused = await athlete();
    expect(refused.status).toBe(429);
    expect(rates(refused).readUsage).toBe('1,5');
  });

  it("POST /__sim/limits changes Strava's limits and headers at run time", async () => {
    const limits = { read_15min: 200, read_day: 2000, overall_15min: 400, overall_day: 4000 };
    await sim.sim('/limits', { vendor: 'strava', ...limits });
    expect(rates(await athlete())).toMatchObject({ limit: '400,4000', readLimit: '200,2000' });
  });
});

describe('cost of a Strava call', () => {
  it('a list page, a detail, streams and zones each cost one Strava call', async () => {
    const [{ id }] = (await sim.get('/api/v3/athlete/activities?per_page=200', accessToken)).body;
    for (const [calls, path] of [`/${id}`, `/${id}/streams?keys=time,latlng`, `/${id}/zones`].entries()) {
      const answer = await sim.get(`/api/v3/activities${path}`, accessToken);
      expect(rates(answer)).toMatchObject({
        usage: `${calls + 2},${calls + 2}`,
        readUsage: `${calls + 2},${calls + 2}`,
      });
    }
  });

  it('Strava charges calls of all athletes to the application', async () => {
    const other = await sim.connect();
    await athlete();
    expect(rates(await sim.get('/api/v3/athlete', other.accessToken)).readUsage).toBe('2,2');
  });
});

describe("Strava's windows", () => {
  it("Strava's short window begins at each quarter of the hour", async () => {
    sim.time.advance(QUARTER_MS - 1); // 14:14:59.999
    expect(rates(await athlete()).readUsage).toBe('1,1');
    sim.time.advance(1);
    expect(rates(await athlete()).readUsage).toBe('1,2');
  });

  it("Strava's day begins at 00:00 UTC", async () => {
    sim.time.advance(10 * 3_600_000 - 1); // 23:59:59.999
    expect(rates(await athlete()).readUsage).toBe('1,1');
    sim.time.advance(1);
    const { accessToken: fresh } = await sim.connect();
    expect(rates(await sim.get('/api/v3/athlete', fresh)).readUsage).toBe('1,1');
  });

  it("Strava's short window lasts 900 / TIME_SCALE seconds", async () => {
    await sim.close();
    await open({ timeScale: 900 });
    sim.time.advance(999);
    expect(rates(await athlete()).readUsage).toBe('1,1');
    sim.time.advance(1);
    expect(rates(await athlete()).readUsage).toBe('1,2');
    const { windows } = (await sim.stats()).strava;
    expect(windows[1].id).toBe(Math.floor(((sim.time.nowMs() / 1000) * 900) / 900));
  });

  it("the fault clock_offset moves Strava's windows", async () => {
    sim.time.advance(QUARTER_MS - 2000);
    await athlete();
    await sim.sim('/faults', { vendor: 'strava', kind: 'clock_offset', delay_ms: 2000 });
    expect(rates(await athlete()).readUsage).toBe('1,2');
  });
});

describe('Strava calls that count', () => {
  it('Strava counts every call of a known token, errors included', async () => {
    await sim.get('/api/v3/activities/1', accessToken);
    await sim.get('/api/v3/activities/1/streams', accessToken);
    const unknown = await sim.get('/api/v3/no/such/thing', accessToken);
    expect(unknown.status).toBe(404);
    expect(rates(unknown).readUsage).toBe('3,3');
  });

  it('Strava does not count a call with an unknown token, and still sends the rate headers', async () => {
    const { status, headers } = await sim.get('/api/v3/athlete', 'never-issued');
    expect(status).toBe(401);
    expect(headers.get('x-readratelimit-usage')).toBe('0,0');
  });

  it('Strava charges an upload to the overall bucket only and a PUT to both', async () => {
    const manual = {
      name: 'Yoga',
      sport_type: 'Run',
      start_date_local: '2026-11-18T07:00:00Z',
      elapsed_time: 1800,
    };
    const created = await sim.json('POST', '/api/v3/activities', manual, accessToken);
    expect(created.status).toBe(201);
    expect(rates(created)).toMatchObject({ usage: '1,1', readUsage: '0,0' });
    const edited = await sim.json('PUT', `/api/v3/activities/${created.body.id}`, { name: 'x' }, accessToken);
    expect(rates(edited)).toMatchObject({ usage: '2,2', readUsage: '1,1' });
  });

  it('Strava does not count token and push-subscription calls', async () => {
    await sim.connect();
    await sim.get('/api/v3/push_subscriptions?client_id=1&client_secret=s');
    expect(rates(await athlete()).usage).toBe('1,1');
  });
});

describe('GET /__sim/stats of Strava', () => {
  it('GET /__sim/stats shows use, limit and overrun of each Strava window and day', async () => {
    await sim.sim('/limits', { vendor: 'strava', read_15min: 2 });
    await exhaust(3);
    sim.time.advance(QUARTER_MS);
    await athlete();
    const { strava } = await sim.stats();
    expect(strava.over_limit).toBe(1);
    expect(strava.windows).toHaveLength(2);
    expect(strava.windows[0]).toEqual({
      id: Math.floor(Date.UTC(2026, 10, 18, 14) / QUARTER_MS),
      starts_at: '2026-11-18T14:00:00.000Z',
      used: { read_15min: 3, overall_15min: 3 },
      limit: { read_15min: 2, overall_15min: 200 },
      over_limit: 1,
    });
    expect(strava.windows[1].over_limit).toBe(0);
    expect(strava.days[0]).toMatchObject({
      starts_at: '2026-11-18T00:00:00.000Z',
      used: { read_day: 4 },
      over_limit: 1,
    });
    expect(strava.by_status).toMatchObject({ 429: 1 });
    expect(strava.by_endpoint).toEqual({ token: 1, athlete: 4 });
    expect(strava.total).toBe(5);
  });

  it('a second successful fetch of a Strava resource counts as a duplicate until the resource changes', async () => {
    const [{ id }] = (await sim.get('/api/v3/athlete/activities?per_page=1', accessToken)).body;
    const duplicates = async () => (await sim.stats()).strava.duplicate_requests as number;
    await sim.get(`/api/v3/activities/${id}`, accessToken);
    await sim.get('/api/v3/activities/1', accessToken);
    await sim.get('/api/v3/activities/1', accessToken);
    expect(await duplicates()).toBe(0);
    await sim.get(`/api/v3/activities/${id}`, accessToken);
    expect(await duplicates()).toBe(1);
    await sim.json('PATCH', `/__sim/activities/${id}`, { name: 'new' });
    await sim.get(`/api/v3/activities/${id}`, accessToken);
    expect(await duplicates()).toBe(1);
  });

  it('GET /__sim/stats shows the highest number of Strava requests in flight', async () => {
    await sim.sim('/faults', { vendor: 'strava', endpoint: 'athlete', kind: 'timeout', count: 3 });
    const controller = new AbortController();
    const hanging = [1, 2, 3].map(() =>
      fetch(`${sim.base}/api/v3/athlete`, {
        headers: { authorization: `Bearer ${accessToken}` },
        signal: controller.signal,
      }),
    );
    while ((await sim.stats()).strava.by_endpoint.athlete !== 3);
    controller.abort();
    await Promise.allSettled(hanging);
    expect((await sim.stats()).strava.max_in_flight).toBe(3);
  });
});

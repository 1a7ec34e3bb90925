import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Harness, Receiver } from '../simulator.harness.js';

let sim: Harness;
beforeEach(async () => {
  sim = await Harness.open();
});
afterEach(() => sim.close());

const refused = (path: string, body: unknown) => sim.json('POST', `/__sim${path}`, body);

describe('POST /__sim/athletes', () => {
  it('POST /__sim/athletes answers id, provider and a code that can be exchanged', async () => {
    const answer = await sim.sim('/athletes', {
      provider: 'strava',
      activities: 3,
      manual_share: 1,
      seed: 5,
    });
    expect(answer).toEqual({ id: expect.any(String), provider: 'strava', code: expect.any(String) });
    const { body } = await sim.exchange(answer.code);
    const listed = (await sim.get('/api/v3/athlete/activities', body.access_token)).body as {
      manual: boolean;
    }[];
    expect(listed.map(({ manual }) => manual)).toEqual([true, true, true]);
  });

  it('POST /__sim/athletes makes the same activities for the same seed', async () => {
    const dump = async () => {
      const { accessToken } = await sim.connect({ activities: 20, seed: 42 });
      return (await sim.get('/api/v3/athlete/activities', accessToken)).text;
    };
    const first = await dump();
    await sim.sim('/reset');
    expect(await dump()).toBe(first);
  });

  it.each([
    [{}, 'provider'],
    [{ provider: 'garmin' }, 'provider'],
    [{ provider: 'strava', activities: -1 }, 'activities'],
    [{ provider: 'strava', manual_share: 2 }, 'manual_share'],
    [{ provider: 'strava', private_share: -1 }, 'private_share'],
    [{ provider: 'strava', private_newest: 0.5 }, 'private_newest'],
    [{ provider: 'strava', seed: 'x' }, 'seed'],
    [{ provider: 'strava', first_activity_id: '12x' }, 'first_activity_id'],
    [{ provider: 'strava', athlete_id: 'me' }, 'athlete_id'],
    [{ provider: 'whoop', athlete_id: '9007199254740993' }, 'athlete_id'],
    [{ provider: 'oura', nights: 1.5 }, 'nights'],
    [{ provider: 'strava', scopes: ['read', 'activity:raed'] }, 'scopes'],
    [[], 'body'],
  ])('POST /__sim/athletes answers 400 to %j and names %s', async (body, field) => {
    const { status, body: answer } = await refused('/athletes', body);
    expect(status).toBe(400);
    expect(answer.error).toBe('Validation failed');
    expect(answer.details[0]).toMatch(new RegExp(`^${field}: `));
  });

  it('POST /__sim/athletes answers 400 to an id that is taken', async () => {
    await sim.sim('/athletes', { provider: 'strava', activities: 0, athlete_id: '7' });
    const { status, body } = await refused('/athletes', { provider: 'strava', athlete_id: '7' });
    expect(status).toBe(400);
    expect(body.details).toEqual(['athlete_id: 7 exists']);
  });
});

describe('GET /__sim/athletes/{provider}/{id}', () => {
  it.each(['strava', 'polar', 'oura', 'whoop'])(
    'GET /__sim/athletes/{provider}/{id} answers what %s has of the athlete now',
    async (provider) => {
      const { id } = await sim.sim('/athletes', { provider, activities: 2, nights: 2 });
      const records = async () =>
        (await sim.get(`/__sim/athletes/${provider}/${id}`)).body as Record<string, unknown>;
      const before = await records();
      // Polar shows nothing from before the registration, and nobody is registered here.
      expect(before.activities).toHaveLength(provider === 'strava' ? 2 : 0);
      expect(before.nights).toHaveLength(provider === 'oura' || provider === 'whoop' ? 2 : 0);
      expect(before).toMatchObject({ id, provider, connected: false });
      if (provider === 'strava') {
        const made = await sim.sim('/activities', { athlete_id: id, name: 'A run', private: true });
        expect((await records()).activities).toContainEqual({
          ...{ id: made.id, name: 'A run', private: true, has_streams: true },
        });
      } else if (provider !== 'polar') {
        const night = { athlete_id: id, date: '2026-11-02', duration_minutes: 431, score: 80 };
        const made = await sim.sim('/sleep', night);
        expect((await records()).nights).toContainEqual({
          ...{ id: made.id, date: '2026-11-02', duration_minutes: 431, score: 80, counts: true },
        });
      }
    },
  );

  it('GET /__sim/athletes/{provider}/{id} answers 404 to an unknown athlete and 400 to an unknown vendor', async () => {
    expect((await sim.get('/__sim/athletes/strava/1')).status).toBe(404);
    expect((await sim.get('/__sim/athletes/garmin/1')).status).toBe(400);
  });
});

describe('/__sim/activities', () => {
  const intervals = {
    sport_type: 'Run',
    profile: 'intervals',
    repetitions: 6,
    repetition_distance_m: 800,
    start_date: '2026-11-18T06:00:00Z',
  };

  it('GET /__sim/activities/{id} answers the planned workout and the time from which its streams exist', async () => {
    const { id } = await sim.connect({ activities: 0 });
    const made = await sim.sim('/activities', { athlete_id: id, ...intervals, streams_late_s: 60 });
    const { body } = await sim.get(`/__sim/activities/${made.id}`);
    expect(body).toEqual(made);
    expect(body).toMatchObject({
      athlete_id: id,
      profile: 'intervals',
      repetitions: 6,
      repetition_distance_m: 800,
      manual: false,
      start_date: '2026-11-18T06:00:00Z',
      streams_exist_at: new Date(sim.time.nowMs() + 60_000).toISOString(),
    });
  });

  it('POST /__sim/activities answers streams_exist_at null for a manual activity', async () => {
    const { id } = await sim.connect({ activities: 0 });
    const made = await sim.sim('/activities', { athlete_id: id, manual: true });
    expect(made).toMatchObject({ manual: true, streams_exist_at: null });
  });

  it('POST /__sim/activities without start_date makes an activity that has just ended', async () => {
    const { id } = await sim.connect({ activities: 0 });
    const made = await sim.sim('/activities', { athlete_id: id, profile: 'easy' });
    const endMs = Date.parse(made.start_date) + made.elapsed_time_s * 1000;
    expect(sim.time.nowMs() - endMs).toBeGreaterThanOrEqual(0);
    expect(sim.time.nowMs() - endMs).toBeLessThan(180_000);
  });

  it('PATCH edits and DELETE removes an activity at /__sim/activities/{id}', async () => {
    const { id, accessToken } = await sim.connect({ activities: 1 });
    const [{ id: activity }] = (await sim.get('/api/v3/athlete/activities', accessToken)).body;
    const edited = await sim.json('PATCH', `/__sim/activities/${activity}`, { name: 'new', private: true });
    expect(edited.body).toMatchObject({ athlete_id: id, name: 'new', private: true });
    expect((await sim.call('DELETE', `/__sim/activities/${activity}`)).status).toBe(200);
    expect((await sim.get(`/api/v3/activities/${activity}`, accessToken)).status).toBe(404);
    expect((await sim.call('DELETE', `/__sim/activities/${activity}`)).status).toBe(404);
  });

  it('/__sim/activities answers 404 to unknown athletes and activities, 400 to wrong fields and taken ids', async () => {
    expect((await refused('/activities', { athlete_id: '1' })).status).toBe(404);
    expect((await sim.get('/__sim/activities/1')).body).toEqual({
      error: 'Not found',
      details: ['id: there is no 1'],
    });
    const { id } = await sim.connect({ activities: 0 });
    const wrong = await refused('/activities', { athlete_id: id, sport_type: 'Chess', photos: 1.5 });
    expect(wrong.status).toBe(400);
    const details = wrong.body.details as string[];
    expect(details.map((detail) => detail.split(':')[0])).toEqual(['sport_type', 'photos']);
    await sim.sim('/activities', { athlete_id: id, id: '77' });
    expect((await refused('/activities', { athlete_id: id, id: '77' })).body.details[0]).toMatch(
      /^id: taken/,
    );
  });
});

describe('POST /__sim/limits', () => {
  it.each([
    ['strava', { read_15min: 1, read_day: 2, overall_15min: 3, overall_day: 4 }],
    ['oura', { read_15min: 1, overall_15min: 3 }],
    ['whoop', { read_15min: 1, read_day: 2 }],
  ] as const)(
    'POST /__sim/limits changes the limits of %s under the common names',
    async (vendor, limits) => {
      const answer = Object.values(await sim.sim('/limits', { vendor, ...limits }));
      expect(answer).toEqual([vendor, ...Object.values(limits)]);
      expect(Object.values(sim.core.limits.of(vendor))).toEqual(Object.values(limits));
    },
  );

  it('POST /__sim/limits with a leeway lets a vendor allow more calls than its headers say, until a reset', async () => {
    const statuses = async () => {
      const { accessToken } = await sim.connect();
      const answers = [];
      for (let call = 0; call < 4; call += 1) answers.push(await sim.get('/api/v3/athlete', accessToken));
      expect(answers[0]?.headers.get('x-readratelimit-limit')).toBe('1,1000');
      return answers.map(({ status }) => status);
    };
    await sim.sim('/limits', { vendor: 'strava', read_15min: 1, leeway: 2 });
    expect(await statuses()).toEqual([200, 200, 200, 429]);
    await sim.sim('/reset');
    await sim.sim('/limits', { vendor: 'strava', read_15min: 1 });
    expect(await statuses()).toEqual([200, 429, 429, 429]);
  });

  it('POST /__sim/limits answers 400 to unknown buckets and negative limits and names them', async () => {
    const { status, body } = await refused('/limits', { vendor: 'strava', read_hour: 5, read_day: -1 });
    expect(status).toBe(400);
    expect(body.details).toEqual([
      'read_hour: unknown, expected one of read_15min, read_day, overall_15min, overall_day',
      'read_day: expected a whole number of 0 or more',
    ]);
  });
});

it('a control route accepts a DELETE with content type JSON and no body, and refuses a truncated body', async () => {
  const headers = { 'content-type': 'application/json' };
  expect((await sim.call('DELETE', '/__sim/faults', { headers })).status).toBe(200);
  expect((await sim.call('POST', '/__sim/reset', { headers, body: '{' })).status).toBe(400);
});

describe('wrong control requests', () => {
  it.each([
    ['POST', '/activities', {}, 'athlete_id'],
    ['POST', '/deauthorize', {}, 'athlete_id'],
    ['POST', '/deauthorize', { athlete_id: '1', provider: 'garmin' }, 'provider'],
    ['POST', '/sleep', {}, 'athlete_id'],
    ['POST', '/sleep', { athlete_id: '{strava}' }, 'athlete_id'],
    ['POST', '/sleep', { athlete_id: '{whoop}', duration_minutes: 0 }, 'duration_minutes'],
    ['POST', '/sleep', { athlete_id: '{whoop}', date: '18.11.2026' }, 'date'],
    ['POST', '/sleep', { athlete_id: '{whoop}', state: 'scored' }, 'state'],
    ['PATCH', '/sleep/{sleep}', { score: 101 }, 'score'],
    ['PATCH', '/activities/{activity}', { visibility: 'nobody' }, 'visibility'],
    ['POST', '/limits', {}, 'vendor'],
    ['POST', '/limits', { vendor: 'broker', read_day: 1 }, 'read_day'],
    ['POST', '/limits', { vendor: 'strava', read_day: '5' }, 'read_day'],
    ['POST', '/webhooks', { vendor: 'garmin', url: 'http://app.test' }, 'vendor'],
    ['POST', '/webhooks', { vendor: 'broker', url: 'http://app.test' }, 'vendor'],
    ['POST', '/webhooks', { vendor: 'strava' }, 'url'],
    ['POST', '/webhooks', { vendor: 'strava', url: 'ftp://app.test' }, 'url'],
  ])('the control request %s %s %j gets 400 and the name %s', async (method, path, body, field) => {
    const strava = await sim.connect({ activities: 0 });
    const activity = await sim.sim('/activities', { athlete_id: strava.id });
    const whoop = await sim.sim('/athletes', { provider: 'whoop', nights: 0 });
    const sleep = await sim.sim('/sleep', { athlete_id: whoop.id });
    const ids = { strava: strava.id, whoop: whoop.id, activity: activity.id, sleep: sleep.id };
    const filled = (text: string) =>
      text.replace(/\{(\w+)\}/g, (_all, name: keyof typeof ids) => ids[name] as string);
    const { status, body: answer } = await sim.call(method, `/__sim${filled(path)}`, {
      headers: { 'content-type': 'application/json' },
      body: filled(JSON.stringify(body)),
    });
    expect(status).toBe(400);
    expect(answer).toEqual({ error: 'Validation failed', details: [expect.stringMatching(`^${field}: `)] });
  });

  it.each([
    ['POST', '/deauthorize', { athlete_id: 'nobody' }],
    ['POST', '/expire', { athlete_id: 'nobody' }],
    ['POST', '/sleep', { athlete_id: 'nobody' }],
    ['PATCH', '/sleep/nothing', {}],
    ['DELETE', '/sleep/nothing', undefined],
    ['PATCH', '/activities/1', {}],
    ['DELETE', '/activities/1', undefined],
    ['GET', '/activities/1', undefined],
    ['GET', '/nothing', undefined],
  ])('the control request %s %s gets 404 for an unknown id or path', async (method, path, body) => {
    const { status, body: answer } = body
      ? await sim.json(method, `/__sim${path}`, body)
      : await sim.call(method, `/__sim${path}`);
    expect(status).toBe(404);
    expect(answer).toEqual({ error: 'Not found', details: [expect.stringContaining('there is no')] });
  });

  it('a control request whose body is not JSON gets 400', async () => {
    const headers = { 'content-type': 'application/json' };
    const { status, body } = await sim.call('POST', '/__sim/limits', { headers, body: '{"vendor":' });
    expect(status).toBe(400);
    expect(body).toEqual({ error: 'Bad request', details: [expect.stringMatching(/^body: /)] });
  });
});

describe('/__sim/sleep', () => {
  it('POST /__sim/sleep finds the athlete of a wearable when a Strava athlete has the same id', async () => {
    for (const provider of ['strava', 'oura', 'whoop'])
      await sim.sim('/athletes', { provider, nights: 0, activities: 0, athlete_id: '7' });
    expect((await sim.sim('/sleep', { athlete_id: '7' })).provider).toBe('oura');
    expect((await sim.sim('/sleep', { athlete_id: '7', provider: 'whoop' })).provider).toBe('whoop');
  });

  it('POST, PATCH and DELETE /__sim/sleep make, change and delete a night', async () => {
    const { id } = await sim.sim('/athletes', { provider: 'whoop', nights: 0 });
    const night = await sim.sim('/sleep', { athlete_id: id, date: '2026-11-17', score: 70 });
    expect(night).toMatchObject({ provider: 'whoop', athlete_id: id, date: '2026-11-17' });
    const path = `/__sim/sleep/${night.id}`;
    const { body } = await sim.json('PATCH', path, { score: 71 });
    expect(body.document.score.sleep_performance_percentage).toBe(71);
    expect((await sim.call('DELETE', path)).body).toEqual({ id: night.id, deleted: true });
    expect((await sim.call('DELETE', path)).status).toBe(404);
  });
});

describe('POST /__sim/expire', () => {
  it('POST /__sim/expire ends the access token of the athlete, and the refresh token still gives a new one', async () => {
    const { id, accessToken, refreshToken } = await sim.connect();
    const expected = { athlete_id: id, provider: 'strava', expired: true };
    expect(await sim.sim('/expire', { athlete_id: id })).toEqual(expected);
    expect((await sim.get('/api/v3/athlete', accessToken)).status).toBe(401);
    const renewed = await sim.refresh(refreshToken);
    expect(renewed.status).toBe(200);
    expect((await sim.get('/api/v3/athlete', renewed.body.access_token as string)).status).toBe(200);
  });
});

describe('POST /__sim/deauthorize', () => {
  it('POST /__sim/deauthorize ends the grants of the athlete and answers the vendor', async () => {
    const { id, accessToken } = await sim.connect();
    expect(await sim.sim('/deauthorize', { athlete_id: id })).toEqual({
      athlete_id: id,
      provider: 'strava',
      authorized: false,
    });
    expect((await sim.get('/api/v3/athlete', accessToken)).status).toBe(401);
  });
});

describe('POST /__sim/webhooks', () => {
  it('POST /__sim/webhooks sends events to the url without a challenge', async () => {
    const receiver = await Receiver.open();
    await sim.sim('/webhooks', { vendor: 'strava', url: receiver.url });
    const { id } = await sim.connect({ activities: 0 });
    await sim.sim('/activities', { athlete_id: id });
    await receiver.waitForEvents(1);
    expect(receiver.received.map(({ method }) => method)).toEqual(['POST']);
    await receiver.close();
  });
});

describe('POST /__sim/reset', () => {
  it('POST /__sim/reset drops athletes, tokens, faults, changed limits and counters', async () => {
    const { accessToken } = await sim.connect();
    await sim.sim('/limits', { vendor: 'strava', read_day: 5 });
    await sim.sim('/faults', { vendor: 'strava', kind: 'http_500' });
    await sim.sim('/reset');
    expect((await sim.get('/api/v3/athlete', accessToken)).status).toBe(401);
    const { body } = await sim.get('/__sim/overview');
    expect(body).toMatchObject({ athletes: [], faults: [] });
    expect(body.buckets.strava[1]).toMatchObject({ name: 'read_day', used: 0, limit: 1000 });
  });
});

describe('activities at two vendors', () => {
  it('POST /__sim/activities takes a provider for an id that Strava and Polar know, and names the vendor without activities', async () => {
    for (const provider of ['strava', 'polar', 'oura'])
      await sim.sim('/athletes', { provider, activities: 0, nights: 0, athlete_id: '7' });
    expect(await sim.sim('/activities', { athlete_id: '7' })).not.toHaveProperty('provider');
    expect((await sim.sim('/activities', { athlete_id: '7', provider: 'polar' })).provider).toBe('polar');
    const { id } = await sim.sim('/athletes', { provider: 'oura', nights: 0 });
    const { status, body } = await sim.json('POST', '/__sim/activities', { athlete_id: id });
    expect([status, body.details]).toEqual([
      400,
      [`athlete_id: ${id} is at oura, not at a vendor with activities`],
    ]);
  });

  it('GET, PATCH and DELETE /__sim/activities/{id} find a session at Polar', async () => {
    const { id: athlete_id } = await sim.sim('/athletes', { provider: 'polar', activities: 0, nights: 0 });
    const { id } = await sim.sim('/activities', { athlete_id, repetitions: 4 });
    const at = `/__sim/activities/${id}`;
    expect((await sim.get(at)).body).toMatchObject({ provider: 'polar', repetitions: 4, manual: false });
    expect((await sim.json('PATCH', at, { sport_type: 'TrailRun' })).body.document).toMatchObject({
      detailed_sport_info: 'TRAIL_RUNNING',
    });
    expect((await sim.call('DELETE', at)).body).toEqual({ id, deleted: true });
    expect((await sim.get(at)).status).toBe(404);
  });

  it('POST /__sim/webhooks answers 400 for Polar, which has an API for its webhook', async () => {
    const order = { vendor: 'polar', url: 'http://127.0.0.1:9/' };
    expect((await sim.json('POST', '/__sim/webhooks', order)).status).toBe(400);
  });
});

describe('GET /__sim/stats', () => {
  it('GET /__sim/stats lists the five vendors, with zero counts before the first call', async () => {
    const stats = await sim.stats();
    expect(Object.keys(stats)).toEqual(['strava', 'oura', 'whoop', 'polar', 'broker']);
    expect(stats.strava).toMatchObject({
      total: 0,
      by_endpoint: {},
      by_status: {},
      over_limit: 0,
      max_in_flight: 0,
      duplicate_requests: 0,
      windows: [],
      days: [],
      webhooks: { sent: 0, acked: 0, retried: 0 },
    });
  });
});

it('GET / serves a page that loads nothing from another host', async () => {
  const { status, headers, text } = await sim.get('/');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain('text/html');
  expect(text).not.toMatch(/(src|href)="https?:/);
});

describe('GET /__sim/overview', () => {
  it('GET /__sim/overview lists requests newest first, and equal requests with an equal outcome once with their number', async () => {
    const overview = async () => {
      const { requests } = (await sim.get('/__sim/overview')).body as {
        requests: { path: string; status: string; times: number }[];
      };
      return requests.map(({ path, status, times }) => [path, status, times]);
    };
    await sim.get('/api/v3/athlete');
    for (let poll = 0; poll < 100; poll += 1) await sim.get('/oura/v2/webhook/subscription');
    await sim.get('/api/v3/athlete');
    await sim.sim('/faults', { vendor: 'strava', kind: 'http_500', count: 1 });
    await sim.get('/api/v3/athlete');
    expect(await overview()).toEqual([
      ['/api/v3/athlete', '500', 1],
      ['/api/v3/athlete', '401', 2],
      ['/oura/v2/webhook/subscription', '401', 100],
    ]);
  });
});

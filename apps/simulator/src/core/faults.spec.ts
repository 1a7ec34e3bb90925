import http from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Harness, until } from '../simulator.harness.js';

let sim: Harness;
let accessToken: string;
beforeEach(async () => {
  sim = await Harness.open();
  ({ accessToken } = await sim.connect());
});
afterEach(() => sim.close());

const athlete = () => sim.get('/api/v3/athlete', accessToken);
const inject = (fault: Record<string, unknown>) =>
  sim.sim('/faults', { vendor: 'strava', endpoint: 'athlete', ...fault });

/** Sends one request and reads the answer up to its end or up to `untilBytes`. */
function raw(
  untilBytes = Infinity,
): Promise<{ status?: number; length?: string; bytes: number; error?: string }> {
  return new Promise((resolve) => {
    const options = { agent: false, headers: { authorization: `Bearer ${accessToken}` } };
    let bytes = 0;
    const request = http.get(`${sim.base}/api/v3/athlete`, options, (response) => {
      const seen = () => ({ status: response.statusCode, length: response.headers['content-length'], bytes });
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes < untilBytes) return;
        resolve(seen());
        request.destroy();
      });
      response.on('error', (error: NodeJS.ErrnoException) => resolve({ ...seen(), error: error.code }));
      response.on('end', () => resolve(seen()));
    });
    request.on('error', (error: NodeJS.ErrnoException) => resolve({ bytes, error: error.code }));
  });
}

describe('faults instead of an answer', () => {
  it('the fault http_500 answers 500 with the body of the vendor', async () => {
    await inject({ kind: 'http_500', count: 1 });
    const { status, body } = await athlete();
    expect(status).toBe(500);
    expect(body.message).toBe('Internal Server Error');
  });

  it('the fault http_429 answers 429 and shows the short window as used up', async () => {
    await inject({ kind: 'http_429', count: 1 });
    const { status, headers } = await athlete();
    expect(status).toBe(429);
    expect(headers.get('x-readratelimit-usage')).toBe('100,1');
  });

  it('the fault http_597 answers 597, the status of a Strava outage', async () => {
    await inject({ kind: 'http_597', count: 1 });
    expect((await athlete()).status).toBe(597);
  });

  it('the fault lying_429 answers 429 with rate headers that show remaining calls', async () => {
    await inject({ kind: 'lying_429', count: 1 });
    const { status, headers } = await athlete();
    expect(status).toBe(429);
    expect(headers.get('x-readratelimit-usage')).toBe('1,1');
    expect((await sim.stats()).strava.over_limit).toBe(0);
  });

  it('the fault not_found answers 404', async () => {
    await inject({ kind: 'not_found', count: 1 });
    expect((await athlete()).status).toBe(404);
  });

  it('the fault html answers a 502 page of a gateway', async () => {
    await inject({ kind: 'html', count: 1 });
    const { status, headers, text } = await athlete();
    expect(status).toBe(502);
    expect(headers.get('content-type')).toContain('text/html');
    expect(text).toContain('Bad Gateway');
  });

  it('the fault reset resets the TCP connection', async () => {
    await inject({ kind: 'reset', count: 1 });
    expect(await raw()).toMatchObject({ error: 'ECONNRESET' });
    expect((await sim.stats()).strava.by_status).toMatchObject({ none: 1 });
  });

  it('the fault timeout never answers', async () => {
    await inject({ kind: 'timeout', count: 1 });
    const controller = new AbortController();
    const headers = { authorization: `Bearer ${accessToken}` };
    const call = fetch(`${sim.base}/api/v3/athlete`, { headers, signal: controller.signal });
    while ((await sim.stats()).strava.by_endpoint.athlete !== 1);
    controller.abort();
    await expect(call).rejects.toThrow();
  });
});

describe('faults in the answer', () => {
  it('the fault malformed cuts the JSON and sends the content-length of the cut text', async () => {
    await inject({ kind: 'malformed', count: 1 });
    const { status, text, headers } = await athlete();
    expect(status).toBe(200);
    expect(text.startsWith('{"id":')).toBe(true);
    expect(() => JSON.parse(text) as unknown).toThrow();
    expect(headers.get('content-length')).toBe(String(text.length));
  });

  it('the fault empty answers 200 with an empty body, and the fault empty_json answers 200 with an empty object', async () => {
    await inject({ kind: 'empty', count: 1 });
    expect(await athlete()).toMatchObject({ status: 200, text: '' });
    await inject({ kind: 'empty_json', count: 1 });
    expect(await athlete()).toMatchObject({ status: 200, text: '{}' });
  });

  it('the fault half_open sends the headers and half of the body, and then nothing', async () => {
    const whole = (await athlete()).text.length;
    await inject({ kind: 'half_open', count: 1 });
    expect(await raw(Math.floor(whole / 2))).toEqual({
      status: 200,
      length: String(whole),
      bytes: Math.floor(whole / 2),
    });
  });

  it('the fault wrong_length announces more bytes than it sends', async () => {
    await inject({ kind: 'wrong_length', count: 1 });
    const { length, bytes, error } = await raw();
    expect(Number(length)).toBe(bytes + 64);
    expect(error).toBe('ECONNRESET');
  });

  it('the fault slow sends the whole answer after its delay', async () => {
    const whole = (await athlete()).text;
    await inject({ kind: 'slow', delay_ms: 10_000, count: 1 });
    const call = athlete();
    await until(() => sim.time.pendingTimers === 1);
    let isOver = false;
    void call.then(() => (isOver = true));
    sim.time.advance(9_999);
    await sim.stats();
    expect(isOver).toBe(false);
    sim.time.advance(1);
    expect(await call).toMatchObject({ status: 200, text: whole });
  });

  it('the fault slow_body sends the whole answer in pieces', async () => {
    const whole = (await athlete()).text.length;
    await inject({ kind: 'slow_body', delay_ms: 10_000, count: 1 });
    const call = raw();
    let isOver = false;
    void call.then(() => (isOver = true));
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      sim.time.advance(1000);
    }
    expect(await call).toMatchObject({ status: 200, bytes: whole });
  });

  it('the fault lost_answer drops the answer of a refresh that has already rotated the token', async () => {
    const { refreshToken } = await sim.connect();
    sim.time.advance(5.5 * 3_600_000);
    await sim.sim('/faults', { vendor: 'strava', endpoint: 'token', kind: 'lost_answer', count: 1 });
    await expect(sim.refresh(refreshToken)).rejects.toThrow();
    expect((await sim.refresh(refreshToken)).status).toBe(400);
  });
});

describe('a fault', () => {
  it('a fault ends after its count, and the calls that it hits count against the limits', async () => {
    await inject({ kind: 'http_500', count: 2 });
    const answers = [await athlete(), await athlete(), await athlete()];
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 200]);
    expect(answers[2]!.headers.get('x-readratelimit-usage')).toBe('3,3');
    expect((await sim.get('/__sim/faults')).body.items).toEqual([]);
  });

  it('a fault with a rate hits that share of calls, and the same calls for the same seed', async () => {
    const run = async () => {
      await inject({ kind: 'http_500', rate: 0.5, seed: 7 });
      const statuses: number[] = [];
      for (let call = 0; call < 20; call++) statuses.push((await athlete()).status);
      await sim.call('DELETE', '/__sim/faults');
      return statuses;
    };
    const first = await run();
    expect(first.filter((status) => status === 500).length).toBeGreaterThan(4);
    expect(first).toContain(200);
    expect(await run()).toEqual(first);
  });

  it('a fault without an endpoint hits all endpoints of its vendor', async () => {
    await sim.sim('/faults', { vendor: 'strava', kind: 'http_500' });
    expect((await athlete()).status).toBe(500);
    expect((await sim.get('/api/v3/activities/1', accessToken)).status).toBe(500);
    expect((await sim.exchange('x')).status).toBe(500);
  });

  it.each([
    ['strava', 'token'],
    ['strava', 'athlete'],
    ['strava', 'activities'],
    ['strava', 'activity'],
    ['strava', 'streams'],
    ['strava', 'photos'],
    ['oura', 'sleep'],
    ['oura', 'daily_sleep'],
    ['whoop', 'sleep'],
    ['broker', 'catalog'],
    ['broker', 'resolve'],
  ])('the endpoint %s %s accepts eight kinds of request faults', async (vendor, endpoint) => {
    for (const kind of [
      'http_500',
      'http_429',
      'timeout',
      'reset',
      'malformed',
      'empty',
      'not_found',
      'slow',
    ]) {
      const order = { vendor, endpoint, kind, rate: 0.5, count: 3, delay_ms: 10 };
      expect(await sim.sim('/faults', order)).toMatchObject(order);
    }
  });

  it('DELETE /__sim/faults removes all faults, or the faults of one vendor', async () => {
    await inject({ kind: 'http_500' });
    await sim.sim('/faults', { vendor: 'oura', kind: 'http_500' });
    expect((await sim.call('DELETE', '/__sim/faults?vendor=oura')).body).toEqual({ removed: 1 });
    expect((await athlete()).status).toBe(500);
    expect((await sim.call('DELETE', '/__sim/faults')).body).toEqual({ removed: 1 });
    expect((await athlete()).status).toBe(200);
    const { status, body } = await sim.call('DELETE', '/__sim/faults?vendor=garmin');
    expect(status).toBe(400);
    expect(body.details[0]).toMatch(/^vendor: /);
  });

  it.each([
    [{}, 'vendor', 'strava'],
    [{ vendor: 'strava', kind: 'http_500', count: 0 }, 'count', '>0'],
    [{ vendor: 'strava', kind: 'slow', delay_ms: -1 }, 'delay_ms', '0 or more'],
    [{ vendor: 'strava', kind: 'slow', delay_ms: 1e12 }, 'delay_ms', '86400000'],
    [{ vendor: 'oura', kind: 'http_597' }, 'kind', 'http_500'],
    [{ vendor: 'garmin', kind: 'http_500' }, 'vendor', 'strava'],
    [{ vendor: 'strava', kind: 'flood' }, 'kind', 'http_500'],
    [{ vendor: 'strava', kind: 'http_500', endpoint: 'sleep' }, 'endpoint', 'streams'],
    [{ vendor: 'strava', kind: 'drop', endpoint: 'streams' }, 'kind', 'malformed'],
    [{ vendor: 'strava', kind: 'http_500', rate: 2 }, 'rate', '1'],
    [{ vendor: 'strava', kind: 'clock_offset' }, 'delay_ms', 'required'],
    [{ vendor: 'oura', kind: 'app_inactive' }, 'kind', 'membership_expired'],
    [{ vendor: 'oura', kind: 'membership_expired', endpoint: 'token' }, 'kind', 'http_500'],
    [{ vendor: 'strava', kind: 'membership_expired' }, 'kind', 'app_inactive'],
    [{ vendor: 'broker', kind: 'athlete_limit' }, 'kind', 'http_500'],
  ])(
    'POST /__sim/faults answers 400 to %j and names %s and the allowed values (%s)',
    async (fault, field, allowed) => {
      const { status, body } = await sim.json('POST', '/__sim/faults', fault);
      expect(status).toBe(400);
      expect(body.error).toBe('Validation failed');
      expect(body.details[0]).toMatch(new RegExp(`^${field}: .*${allowed}`));
    },
  );
});

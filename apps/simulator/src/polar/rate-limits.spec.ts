import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Harness } from '../simulator.harness.js';
import { openSimulator } from '../wearables/wearable.harness.js';
import { askToken, connect, consented, setHabits, webhookCall } from './polar.harness.js';

let sim: Harness;
let athlete: { id: string; token: string };

beforeEach(async () => {
  sim = await openSimulator();
  athlete = await connect(sim);
  sim.core.limits.reset();
  sim.core.judge.reset();
});
afterEach(() => sim.close());

const list = (token = athlete.token) => sim.get('/polar/v3/exercises', token);

async function rates() {
  const { headers, status } = await list();
  return { status, ...ratesOf(headers) };
}

function ratesOf(headers: Headers) {
  const of = (name: string) => headers.get(`ratelimit-${name}`);
  return { usage: of('usage'), limit: of('limit'), reset: of('reset') };
}

describe('rate limits of Polar', () => {
  it('every answer of Polar carries usage, limit and seconds to reset as short and long window', async () => {
    expect(await rates()).toEqual({ status: 200, usage: '1, 1', limit: '500, 5000', reset: '900, 86400' });
    const missing = await sim.get('/polar/v3/exercises/unknown', athlete.token);
    expect([missing.status, ratesOf(missing.headers).usage]).toEqual([404, '2, 2']);
  });

  it('a window of Polar begins with its first call and ends 15 minutes or 24 hours later', async () => {
    sim.time.advance(400_000);
    expect((await rates()).reset).toBe('900, 86400');
    sim.time.advance(899_000);
    expect(await rates()).toMatchObject({ usage: '2, 2', reset: '1, 85501' });
    sim.time.advance(1_000);
    expect(await rates()).toMatchObject({ usage: '1, 3', reset: '900, 85500' });
    sim.time.advance(2 * 86_400_000);
    expect(await rates()).toMatchObject({ usage: '1, 1', reset: '900, 86400' });
    const { windows, days } = sim.core.judge.stats().polar;
    expect(windows.map(({ used }) => used)).toEqual([
      { quarter_hour: 2 },
      { quarter_hour: 1 },
      { quarter_hour: 1 },
    ]);
    expect(days.map(({ used }) => used)).toEqual([{ day: 3 }, { day: 1 }]);
  });

  it('TIME_SCALE divides the windows of Polar', async () => {
    const fast = await openSimulator(900);
    const { token } = await connect(fast);
    const { headers } = await fast.get('/polar/v3/exercises', token);
    expect(ratesOf(headers).reset).toBe('1, 96');
    await fast.close();
  });

  it('the limits of Polar are 500 + 20 and 5000 + 100 per registered user, counted once a day', async () => {
    await list();
    await connect(sim);
    expect(await rates()).toMatchObject({ limit: '500, 5000' });
    sim.time.advance(86_400_000);
    expect(await rates()).toMatchObject({ limit: '540, 5200' });
    await setHabits(sim, { users_counted_every_seconds: 0 });
    await connect(sim);
    expect(await rates()).toMatchObject({ limit: '560, 5300' });
  });

  it('a call over the short limit of Polar answers 429, counts towards the long one and as over the limit', async () => {
    await sim.sim('/limits', { vendor: 'polar', read_15min: 2, read_day: 10 });
    await list();
    await list();
    for (const usage of ['3, 3', '4, 4']) {
      const { status, headers, text } = await list();
      expect([status, ratesOf(headers).usage]).toEqual([429, usage]);
      expect(headers.has('retry-after')).toBe(false);
      expect(JSON.parse(text)).toMatchObject({ status: 429 });
    }
    sim.time.advance(900_000);
    expect(await rates()).toMatchObject({ status: 200, usage: '1, 5', limit: '2, 10' });
    expect((await sim.stats()).polar).toMatchObject({ over_limit: 2, by_status: { 200: 3, 429: 2 } });
  });

  it('a call over the long limit of Polar answers 429 until its window ends', async () => {
    await sim.sim('/limits', { vendor: 'polar', quarter_hour: 100, day: 1 });
    await list();
    expect((await list()).status).toBe(429);
    sim.time.advance(900_000);
    expect((await list()).status).toBe(429);
    sim.time.advance(86_400_000);
    expect((await list()).status).toBe(200);
  });

  it('a 429 of Polar carries Retry-After when that habit is set', async () => {
    await setHabits(sim, { retry_after_on_429: true });
    await sim.sim('/limits', { vendor: 'polar', quarter_hour: 0 });
    sim.time.advance(5_000);
    expect((await list()).headers.get('retry-after')).toBe('900');
  });

  it('an injected 429 of Polar shows the short window as used up, lying_429 does not', async () => {
    await sim.sim('/faults', { vendor: 'polar', kind: 'http_429', count: 1 });
    expect(await rates()).toMatchObject({ status: 429, usage: '500, 1' });
    await sim.sim('/faults', { vendor: 'polar', kind: 'lying_429', count: 1 });
    expect(await rates()).toMatchObject({ status: 429, usage: '2, 2' });
  });

  it('all users of the app share the limits of Polar, and a call with an unknown token costs nothing', async () => {
    const other = await connect(sim);
    const before = Number((await rates()).usage!.split(',')[0]);
    await list(other.token);
    expect(ratesOf((await list('unknown')).headers).usage).toBe(`${before + 1}, ${before + 1}`);
  });

  it('webhook calls of Polar count against its limits and token calls do not, unless their habits say otherwise', async () => {
    await webhookCall(sim, 'GET');
    expect((await rates()).usage).toBe('2, 2');
    await setHabits(sim, { webhook_calls_count: false, token_calls_count: true });
    await webhookCall(sim, 'GET');
    const { code } = await consented(sim);
    const { headers } = await askToken(sim, code);
    expect(headers.has('ratelimit-usage')).toBe(false);
    expect((await rates()).usage).toBe('4, 4');
  });

  it('the fault clock_offset is refused for Polar, whose windows have no boundary to shift', async () => {
    const order = { vendor: 'polar', kind: 'clock_offset', delay_ms: 1000 };
    expect((await sim.json('POST', '/__sim/faults', order)).status).toBe(400);
  });
});

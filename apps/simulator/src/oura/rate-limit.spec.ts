import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Connected, type Harness } from '../simulator.harness.js';
import { connect, openSimulator } from '../wearables/wearable.harness.js';

const PATH = '/oura/v2/usercollection/personal_info';
const HEADERS = [
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-window',
  'x-ratelimit-reset',
  'x-ratelimit-tier',
];

let sim: Harness;
let athlete: Connected;

beforeEach(async () => {
  sim = await openSimulator();
  athlete = await connect(sim, 'oura');
});
afterEach(() => sim.close());

async function statuses(count: number, token = athlete.accessToken): Promise<number[]> {
  const answers = [];
  for (let i = 0; i < count; i++) answers.push((await sim.get(PATH, token)).status);
  return answers;
}

describe('rate limit of Oura', () => {
  it('Oura allows 5,000 calls in 300 s per token and 50,000 per application by default', () => {
    expect(sim.core.limits.of('oura')).toEqual({ token: 5000, application: 50_000 });
    expect(sim.core.limits.usage('oura').map(({ seconds }) => seconds)).toEqual([300, 300]);
  });

  it('Oura sends its five rate headers with a 429 only', async () => {
    await sim.sim('/limits', { vendor: 'oura', token: 1 });
    const { headers: before } = await sim.get(PATH, athlete.accessToken);
    for (const name of HEADERS) expect(before.has(name)).toBe(false);

    sim.time.advance(60_000);
    const { status, headers } = await sim.get(PATH, athlete.accessToken);
    expect(status).toBe(429);
    expect(Object.fromEntries(HEADERS.map((name) => [name, headers.get(name)]))).toEqual({
      'retry-after': '240',
      'x-ratelimit-limit': '1',
      'x-ratelimit-window': '300',
      'x-ratelimit-reset': String(Date.UTC(2026, 10, 18, 14, 5) / 1000),
      'x-ratelimit-tier': 'token',
    });
  });

  it('Oura counts the calls of each access token separately, and starts at zero in the next window', async () => {
    await sim.sim('/limits', { vendor: 'oura', token: 2 });
    const other = await connect(sim, 'oura');
    expect(await statuses(3)).toEqual([200, 200, 429]);
    expect(await statuses(2, other.accessToken)).toEqual([200, 200]);
    sim.time.advance(300_000);
    expect(await statuses(1)).toEqual([200]);
  });

  it('Oura counts the whole application as a second tier', async () => {
    await sim.sim('/limits', { vendor: 'oura', application: 3 });
    const other = await connect(sim, 'oura');
    expect(await statuses(2)).toEqual([200, 200]);
    expect(await statuses(2, other.accessToken)).toEqual([200, 429]);
    const { headers } = await sim.get(PATH, athlete.accessToken);
    expect(headers.get('x-ratelimit-tier')).toBe('application');
  });

  it('Oura takes the names of its tiers from the habits token_tier and application_tier', async () => {
    await sim.json('PUT', '/oura/__sim/habits', { token_tier: 'per_user', application_tier: 'app' });
    await sim.sim('/limits', { vendor: 'oura', token: 0 });
    const { headers } = await sim.get(PATH, athlete.accessToken);
    expect(headers.get('x-ratelimit-tier')).toBe('per_user');
  });

  it('an injected 429 of Oura carries the five rate headers', async () => {
    await sim.sim('/faults', { vendor: 'oura', endpoint: 'sleep', kind: 'http_429', count: 1 });
    const { status, headers } = await sim.get('/oura/v2/usercollection/sleep', athlete.accessToken);
    expect(status).toBe(429);
    for (const name of HEADERS) expect(headers.get(name)).toBeTruthy();
  });
});

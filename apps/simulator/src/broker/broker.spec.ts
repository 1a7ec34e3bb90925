import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Harness } from '../simulator.harness.js';

let sim: Harness;

beforeAll(async () => {
  sim = await Harness.open();
});
afterEach(() => sim.sim('/reset'));
afterAll(() => sim.close());

interface SeriesAnswer {
  name: string;
  poster: string;
  episodes: { id: string; title: string; season: number; episode: number }[];
}

async function series() {
  return (await sim.get('/broker/catalog')).body.series as SeriesAnswer[];
}

function resolve(body: unknown) {
  return sim.json('POST', '/broker/resolve', body);
}

const EPISODE = 'base-building-s01e01';

describe('the catalogue', () => {
  it('lists series with id, name, description, poster and episodes of id, title, season, episode', async () => {
    const all = await series();
    expect(all.map(({ name }) => name)).toEqual(expect.arrayContaining(['Base building', 'Hill school']));
    expect(Object.keys(all[0]!)).toEqual(['id', 'name', 'description', 'poster', 'episodes']);
    expect(all[0]!.episodes[0]).toEqual({ id: EPISODE, title: 'Talk pace', season: 1, episode: 1 });
    const ids = all.flatMap(({ episodes }) => episodes.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('points at posters that exist', async () => {
    for (const { poster } of await series()) {
      const response = await fetch(poster);
      expect(response.headers.get('content-type')).toContain('image/svg+xml');
      expect(await response.text()).toMatch(/^<svg .*<\/svg>$/);
    }
    expect((await sim.get('/broker/posters/nothing.svg')).status).toBe(404);
  });
});

describe('resolving', () => {
  it('answers sources of url, name, description, filename and size, and every url plays', async () => {
    const { status, body } = await resolve({ client: 'tv-1', episode: EPISODE });
    expect(status).toBe(200);
    expect(body.sources.length).toBeGreaterThan(1);
    for (const source of body.sources) {
      expect(Object.keys(source)).toEqual(['url', 'name', 'description', 'filename', 'size_bytes']);
      const response = await fetch(source.url);
      expect(response.headers.get('content-type')).toBe('video/mp4');
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(bytes.subarray(4, 8).toString()).toBe('ftyp');
      expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'));
      expect(bytes.length).toBe(source.size_bytes);
      expect(bytes.length).toBeLessThan(150_000);
    }
  });

  it('an unknown episode is 404', async () => {
    expect((await resolve({ client: 'tv-1', episode: 'nothing' })).status).toBe(404);
  });

  it('a policy-blocked client or episode is 403 {"reason":"policy"}, by rule', async () => {
    for (const [client, episode] of [
      ['blocked-tv', EPISODE],
      ['tv-1', 'hill-school-s01e05'],
    ]) {
      const { status, body } = await resolve({ client, episode });
      expect(status).toBe(403);
      expect(body).toEqual({ reason: 'policy' });
    }
  });

  it('and by switch, until the switch or the world is reset', async () => {
    const blocked = async (client: string) => (await resolve({ client, episode: EPISODE })).status === 403;
    await sim.json('PUT', '/broker/__sim/policy', { clients: ['tv-1'] });
    expect([await blocked('tv-1'), await blocked('tv-2')]).toEqual([true, false]);
    await sim.json('PUT', '/broker/__sim/policy', { everything: true });
    expect(await blocked('tv-2')).toBe(true);
    await sim.sim('/reset');
    expect([await blocked('tv-1'), await blocked('tv-2')]).toEqual([false, false]);
  });

  it.each([[{}], [{ client: 'tv-1' }], [{ client: 7, episode: EPISODE }]])('%j is 400', async (body) => {
    expect((await resolve(body)).status).toBe(400);
  });

  it('a body that is no JSON is 400 {"reason":"malformed"}', async () => {
    const headers = { 'content-type': 'application/json' };
    const { status, body } = await sim.call('POST', '/broker/resolve', { headers, body: '{' });
    expect(status).toBe(400);
    expect(body).toMatchObject({ reason: 'malformed' });
  });

  it.each([
    [{ client: ['tv-1'] }, 'client'],
    [{ clients: 'tv-1' }, 'clients'],
    [{ everything: 1 }, 'everything'],
  ])('its switch refuses %j naming %s', async (rule, field) => {
    const { status, body } = await sim.json('PUT', '/broker/__sim/policy', rule);
    expect(status).toBe(400);
    expect(body).toEqual({ error: 'Validation failed', details: [expect.stringMatching(`^${field}: `)] });
  });

  it('is counted and fails when a fault says so', async () => {
    await resolve({ client: 'tv-1', episode: EPISODE });
    await sim.sim('/faults', { vendor: 'broker', endpoint: 'resolve', kind: 'http_500', count: 1 });
    expect((await resolve({ client: 'tv-1', episode: EPISODE })).status).toBe(500);
    expect((await sim.stats()).broker).toMatchObject({ total: 2, by_endpoint: { resolve: 2 } });
  });
});

describe('the clip', () => {
  const clip = (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${sim.base}/broker/media/guided-workout-360p.mp4`, { method, headers });

  it('is served whole with Accept-Ranges to whoever asks for no range', async () => {
    const response = await clip();
    expect(response.status).toBe(200);
    expect(response.headers.get('accept-ranges')).toBe('bytes');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect((await response.arrayBuffer()).byteLength).toBe(Number(response.headers.get('content-length')));
  });

  it('is served in parts as 206 with Content-Range', async () => {
    const whole = Buffer.from(await (await clip()).arrayBuffer());
    const response = await clip({ range: 'bytes=100-199' });
    expect(response.status).toBe(206);
    expect(response.headers.get('content-range')).toBe(`bytes 100-199/${whole.length}`);
    expect(Buffer.from(await response.arrayBuffer()).equals(whole.subarray(100, 200))).toBe(true);
  });

  it('answers 416 to a range beyond its end and ignores a range whose If-Range is stale', async () => {
    expect((await clip({ range: 'bytes=9999999-' })).status).toBe(416);
    expect((await clip({ range: 'bytes=0-9', 'if-range': '"old"' })).status).toBe(200);
  });

  it('answers HEAD and knows no other file', async () => {
    const response = await clip({}, 'HEAD');
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(10_000);
    expect((await sim.get('/broker/media/..%2Fclip.ts')).status).toBe(404);
  });
});

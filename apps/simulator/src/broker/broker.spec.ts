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

describe('GET /broker/catalog', () => {
  it('GET /broker/catalog lists series with id, name, description, poster, and episodes with id, title, season and episode', async () => {
    const all = await series();
    expect(all.map(({ name }) => name)).toEqual(expect.arrayContaining(['Base building', 'Hill school']));
    expect(Object.keys(all[0]!)).toEqual(['id', 'name', 'description', 'poster', 'episodes']);
    expect(all[0]!.episodes[0]).toEqual({ id: EPISODE, title: 'Talk pace', season: 1, episode: 1 });
    const ids = all.flatMap(({ episodes }) => episodes.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('the broker serves an SVG for each poster of its catalogue, and answers 404 to other poster names', async () => {
    for (const { poster } of await series()) {
      const response = await fetch(poster);
      expect(response.headers.get('content-type')).toContain('image/svg+xml');
      expect(await response.text()).toMatch(/^<svg .*<\/svg>$/);
    }
    expect((await sim.get('/broker/posters/nothing.svg')).status).toBe(404);
  });
});

describe('POST /broker/resolve', () => {
  it('POST /broker/resolve answers sources with url, name, description, filename and size; each MP4 starts with its index', async () => {
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

  it('POST /broker/resolve answers 404 for an unknown episode', async () => {
    expect((await resolve({ client: 'tv-1', episode: 'nothing' })).status).toBe(404);
  });

  it('POST /broker/resolve answers 403 {"reason":"policy"} to a client named blocked… and for a members-only episode', async () => {
    for (const [client, episode] of [
      ['blocked-tv', EPISODE],
      ['tv-1', 'hill-school-s01e05'],
    ]) {
      const { status, body } = await resolve({ client, episode });
      expect(status).toBe(403);
      expect(body).toEqual({ reason: 'policy' });
    }
  });

  it('PUT /broker/__sim/policy blocks the named clients until a reset', async () => {
    const blocked = async (client: string) => (await resolve({ client, episode: EPISODE })).status === 403;
    await sim.json('PUT', '/broker/__sim/policy', { clients: ['tv-1'] });
    expect([await blocked('tv-1'), await blocked('tv-2')]).toEqual([true, false]);
    await sim.json('PUT', '/broker/__sim/policy', { everything: true });
    expect(await blocked('tv-2')).toBe(true);
    await sim.sim('/reset');
    expect([await blocked('tv-1'), await blocked('tv-2')]).toEqual([false, false]);
  });

  it.each([[{}], [{ client: 'tv-1' }], [{ client: 7, episode: EPISODE }]])(
    'POST /broker/resolve answers 400 to %j',
    async (body) => {
      expect((await resolve(body)).status).toBe(400);
    },
  );

  it('POST /broker/resolve answers 400 {"reason":"malformed"} to a body that is not JSON', async () => {
    const headers = { 'content-type': 'application/json' };
    const { status, body } = await sim.call('POST', '/broker/resolve', { headers, body: '{' });
    expect(status).toBe(400);
    expect(body).toMatchObject({ reason: 'malformed' });
  });

  it.each([
    [{ client: ['tv-1'] }, 'client'],
    [{ clients: 'tv-1' }, 'clients'],
    [{ everything: 1 }, 'everything'],
  ])('PUT /broker/__sim/policy answers 400 to %j and names %s', async (rule, field) => {
    const { status, body } = await sim.json('PUT', '/broker/__sim/policy', rule);
    expect(status).toBe(400);
    expect(body).toEqual({ error: 'Validation failed', details: [expect.stringMatching(`^${field}: `)] });
  });

  it('the simulator counts a broker call and answers an injected http_500', async () => {
    await resolve({ client: 'tv-1', episode: EPISODE });
    await sim.sim('/faults', { vendor: 'broker', endpoint: 'resolve', kind: 'http_500', count: 1 });
    expect((await resolve({ client: 'tv-1', episode: EPISODE })).status).toBe(500);
    expect((await sim.stats()).broker).toMatchObject({ total: 2, by_endpoint: { resolve: 2 } });
  });
});

describe('GET /broker/media/{file}', () => {
  const clip = (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${sim.base}/broker/media/guided-workout-360p.mp4`, { method, headers });

  it('GET /broker/media/{file} serves the whole clip with Accept-Ranges to a request without a range', async () => {
    const response = await clip();
    expect(response.status).toBe(200);
    expect(response.headers.get('accept-ranges')).toBe('bytes');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect((await response.arrayBuffer()).byteLength).toBe(Number(response.headers.get('content-length')));
  });

  it('GET /broker/media/{file} serves a range of the clip as 206 with Content-Range', async () => {
    const whole = Buffer.from(await (await clip()).arrayBuffer());
    const response = await clip({ range: 'bytes=100-199' });
    expect(response.status).toBe(206);
    expect(response.headers.get('content-range')).toBe(`bytes 100-199/${whole.length}`);
    expect(Buffer.from(await response.arrayBuffer()).equals(whole.subarray(100, 200))).toBe(true);
  });

  it('GET /broker/media/{file} answers 416 to a range beyond the end, and ignores a range with a stale If-Range', async () => {
    expect((await clip({ range: 'bytes=9999999-' })).status).toBe(416);
    expect((await clip({ range: 'bytes=0-9', 'if-range': '"old"' })).status).toBe(200);
  });

  it('HEAD /broker/media/{file} answers the length of the clip, and 404 to an unknown file name', async () => {
    const response = await clip({}, 'HEAD');
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(10_000);
    expect((await sim.get('/broker/media/..%2Fclip.ts')).status).toBe(404);
  });
});

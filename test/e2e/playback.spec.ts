import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import stremio from 'stremio-addon-client';
import linter from 'stremio-addon-linter';
import { errorBody } from '../harness/error-body.js';
import { type AddonBody, EPISODE, get, PlaybackWorld, streamPath } from '../harness/playback.js';
import { type ProductProcess } from '../harness/process.js';

const SERIES = 'pacekeeper:base-building';
const CATALOGUE = 'guided-workouts';

describe('the add-on', () => {
  let world: PlaybackWorld;
  let api: ProductProcess;
  beforeAll(async () => {
    world = await PlaybackWorld.open();
    api = await world.startApi();
  });
  afterAll(() => world?.close());

  describe.each([
    ['without a session', ''],
    ['with a session', 'living-room/'],
  ])('%s', (how, session) => {
    it(`Stremio’s linter and client accept the add-on ${how}, from the manifest to the sources`, async () => {
      const manifest = JSON.parse((await get(api, `${session}manifest.json`)).text) as unknown;
      expect(linter.lintManifest(manifest)).toEqual({ valid: true, errors: [], warnings: [] });

      const { addon } = await stremio.detectFromURL(`${api.url}/addon/${session}manifest.json`);
      const { metas } = await addon.get<Required<AddonBody>>('catalog', 'series', CATALOGUE);
      expect(metas.map(({ name }) => name)).toContain('Base building');
      const series = metas.find(({ id }) => id === SERIES);
      expect(addon.isSupported('meta', 'series', series?.id ?? '')).toBe(true);
      const { meta } = await addon.get<AddonBody>('meta', 'series', SERIES);
      const episode = meta?.videos?.find(({ title }) => title === 'Talk pace');
      expect(addon.isSupported('stream', 'series', episode?.id ?? '')).toBe(true);
      expect(addon.isSupported('stream', 'series', 'tt0898266:9:17')).toBe(false);
      const { streams } = await addon.get<Required<AddonBody>>('stream', 'series', episode?.id ?? '');
      expect(streams.map(({ name }) => name)).toEqual(['360p', '180p']);
      for (const { url } of streams) expect((await fetch(url)).status).toBe(200);
    });

    it(`the catalogue ${how} answers the search and skip of Stremio’s client`, async () => {
      const { addon } = await stremio.detectFromURL(`${api.url}/addon/${session}manifest.json`);
      const found = await addon.get<Required<AddonBody>>('catalog', 'series', CATALOGUE, {
        search: 'eight short HILLS',
      });
      expect(found.metas.map(({ name }) => name)).toEqual(['Hill school']);
      const skipped = await addon.get<AddonBody>('catalog', 'series', CATALOGUE, { skip: 100 });
      expect(skipped.metas).toEqual([]);
    });
  });

  it('a source has its name, file name, size and binge group, and may be cached for 20 s', async () => {
    const { body, headers } = await get(api, streamPath('tv-1'));
    const [best] = body.streams ?? [];
    expect(best).toMatchObject({
      name: '360p',
      behaviorHints: {
        bingeGroup: 'pacekeeper-360p',
        filename: 'base-building-s01e01-360p.mp4',
        videoSize: readFileSync('apps/simulator/src/broker/media/guided-workout-360p.mp4').length,
        notWebReady: true,
      },
    });
    expect(headers['cache-control']).toBe('private, max-age=20');
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it("the add-on resolves an episode also by the broker's own id", async () => {
    const { body } = await get(api, 'stream/series/base-building-s01e01.json');
    expect(body.streams).toHaveLength(2);
  });

  it.each(['catalog', 'meta', 'stream', 'clips'])(
    'a session named %s is a session and not the resource of that name',
    async (session) => {
      const { addon } = await stremio.detectFromURL(`${api.url}/addon/${session}/manifest.json`);
      expect(
        (await addon.get<Required<AddonBody>>('catalog', 'series', CATALOGUE)).metas.length,
      ).toBeGreaterThan(1);
      expect((await addon.get<AddonBody>('meta', 'series', SERIES)).meta?.id).toBe(SERIES);
      expect((await addon.get<AddonBody>('stream', 'series', EPISODE)).streams).toHaveLength(2);
    },
  );

  it('manifest, catalogue and series may be cached for 60 s and answer 304 to their ETag', async () => {
    for (const path of ['manifest.json', `catalog/series/${CATALOGUE}.json`, `meta/series/${SERIES}.json`]) {
      const { status, headers } = await get(api, path);
      expect([status, headers['cache-control']]).toEqual([
        200,
        expect.stringMatching(/^public, max-age=60, stale-while/),
      ]);
      const again = await get(api, path, { 'if-none-match': `W/${headers.etag}` });
      expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
      expect(again.headers['access-control-allow-origin']).toBe('*');
    }
  });

  // A player can parse each answer, and a page of any origin may read the answer.
  const strange: ReadonlyArray<
    readonly [what: string, path: string, status: number, reason: string | undefined]
  > = [
    ['an unknown type', 'stream/movie/tt0111161.json', 200, 'not_found'],
    ['an unknown episode', 'stream/series/nothing.json', 200, 'not_found'],
    ["another add-on's id", 'stream/series/tt0898266%3A9%3A17.json', 200, 'not_found'],
    ['an encoded slash in an id', 'tv-1/stream/series/..%2F..%2Fadmin%2Fdlq.json', 200, 'not_found'],
    ['an id that cannot be decoded', 'tv-1/stream/series/%zz.json', 200, 'not_found'],
    ['a NUL in an id', 'tv-1/stream/series/a%00b.json', 200, 'not_found'],
    ['an oversized id', `tv-1/stream/series/${'a'.repeat(4_000)}.json`, 200, 'not_found'],
    ['an empty id', 'tv-1/stream/series/.json', 404, undefined],
    [
      'extra arguments that cannot be decoded',
      `tv-1/stream/series/nothing/videoHash=%zz&a.json`,
      200,
      'not_found',
    ],
    ['a session with a space', 'a%20b/stream/series/x.json', 200, 'policy_blocked'],
    ['an oversized session', `${'a'.repeat(4_000)}/stream/series/x.json`, 200, 'policy_blocked'],
    ['a session that cannot be decoded', '%ff/stream/series/x.json', 200, 'policy_blocked'],
    ['a session that is a path', '..%2F..%2Fv1/stream/series/x.json', 200, 'policy_blocked'],
    ['an empty session', '/stream/series/x.json', 200, 'policy_blocked'],
    ['an unknown catalogue', 'catalog/series/nothing.json', 200, 'not_found'],
    ['a catalogue of a malformed session', `a.b/catalog/series/${CATALOGUE}.json`, 200, 'policy_blocked'],
    ['an unknown series', 'meta/series/nothing.json', 404, 'not_found'],
    ['a manifest of a malformed session', 'a.b/manifest.json', 404, undefined],
    ['an unknown resource', 'subtitles/series/x.json', 404, undefined],
    ['an unknown route', 'x', 404, undefined],
    ['a clip of a cause that has none', 'clips/capacity_busy.mp4', 404, undefined],
    ['a clip elsewhere', 'clips/..%2F..%2Fpackage.json.mp4', 404, undefined],
    ['a type and an id in other scripts', 'stream/%F0%9F%8F%83/%D0%B1%D0%B5%D0%B3.json', 200, 'not_found'],
  ];
  it.each(strange)(
    'the add-on answers %s with JSON that a player can read',
    async (_, path, status, reason) => {
      const answer = await get(api, path);
      expect([answer.status, answer.body.reason]).toEqual([status, reason]);
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'cache-control': 'no-store',
        'content-type': 'application/json; charset=utf-8',
      });
      if (path.includes('stream/') && status === 200) expect(answer.body.streams).toEqual([]);
      if (reason === undefined) expect(answer.body).toEqual(errorBody({ code: 'NOT_FOUND' }));
      expect((await get(api, streamPath('tv-1'))).status).toBe(200);
    },
  );

  it('/addon answers dots in a path with 404, POST with 405, an oversized path with 431 and an encoded path with 200', async () => {
    const { hostname, port } = new URL(api.url);
    const raw = (lines: string) =>
      new Promise<string>((resolve) => {
        let answer = '';
        const socket = connect(Number(port), hostname, () =>
          socket.write(`${lines}\r\nhost: x\r\nconnection: close\r\n\r\n`),
        );
        socket.on('data', (bytes: Buffer) => (answer += bytes.toString()));
        socket.on('error', () => resolve(answer));
        socket.on('close', () => resolve(answer));
      });
    expect(await raw('GET /addon/../v1/me HTTP/1.1')).toMatch(
      /^HTTP\/1\.1 404 [^]*access-control-allow-origin: \*/,
    );
    expect(await raw('POST /addon/manifest.json HTTP/1.1')).toMatch(
      /^HTTP\/1\.1 405 [^]*access-control-allow-origin: \*/,
    );
    expect(await raw(`GET /addon/${'a/'.repeat(9_000)} HTTP/1.1`)).toMatch(/^HTTP\/1\.1 431 /);
    expect(await raw('GET /%61ddon/manifest.json HTTP/1.1')).toMatch(
      /^HTTP\/1\.1 200 [^]*access-control-allow-origin: \*/,
    );
  });

  it.each(['manifest.json', 'clips/broker_error.mp4', 'tv-1/stream/series/x.json', 'nothing/at/all'])(
    'a page of any origin may GET and HEAD /addon/%s',
    async (path) => {
      const preflight = await get(api, path, {
        method: 'OPTIONS',
        origin: 'https://web.stremio.com',
        'access-control-request-method': 'GET',
      });
      expect(preflight.status).toBe(204);
      expect(preflight.headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, HEAD, OPTIONS',
        'access-control-allow-headers': '*',
      });
      const head = await get(api, path, { method: 'HEAD' });
      const full = await get(api, path);
      expect([head.status, head.text, head.headers['content-length']]).toEqual([
        full.status,
        '',
        full.headers['content-length'],
      ]);
      expect(head.headers['cross-origin-resource-policy']).toBe('cross-origin');
    },
  );

  it('/health/live is not open to pages of other origins', async () => {
    const { headers } = await fetch(`${api.url}/health/live`);
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  });

  describe('a clip', () => {
    const URL_OF = 'clips/dependency_timeout.mp4';
    const whole = readFileSync('libs/playback/src/clips/dependency_timeout.mp4');
    const bytesOf = async (headers: Record<string, string>) => {
      const answer = await fetch(`${api.url}/addon/${URL_OF}`, { headers });
      return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
    };

    it('a clip is sent whole without a Range and in part with a Range', async () => {
      const { answer, bytes } = await bytesOf({});
      expect(bytes.equals(whole)).toBe(true);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'video/mp4',
        'accept-ranges': 'bytes',
        'cache-control': 'public, max-age=86400',
        'content-length': String(whole.length),
      });
      const some = await bytesOf({ range: 'bytes=100-199', 'if-range': answer.headers.get('etag') ?? '' });
      expect(some.answer.status).toBe(206);
      expect(some.answer.headers.get('content-range')).toBe(`bytes 100-199/${whole.length}`);
      expect(some.bytes.equals(whole.subarray(100, 200))).toBe(true);
      const end = await bytesOf({ range: 'bytes=-7' });
      expect(end.bytes.equals(whole.subarray(-7))).toBe(true);
    });

    it('a clip answers 200 if If-Range differs, 304 to its ETag, and 416 to a range beyond its end', async () => {
      const { answer } = await bytesOf({ range: 'bytes=0-1', 'if-range': '"another"' });
      expect(answer.status).toBe(200);
      const etag = answer.headers.get('etag') ?? '';
      expect((await bytesOf({ 'if-none-match': etag })).answer.status).toBe(304);
      const beyond = await bytesOf({ range: `bytes=${whole.length}-` });
      expect(beyond.answer.status).toBe(416);
      expect(beyond.answer.headers.get('content-range')).toBe(`bytes */${whole.length}`);
    });
  });

  describe('clients without a session', () => {
    const from = (one: ProductProcess, addresses: string) =>
      get(one, 'stream/series/base-building-s01e01.json', { 'x-forwarded-for': addresses });

    it('without TRUST_PROXY the gate counts the address of the peer and ignores x-forwarded-for', async () => {
      const single = await world.startApi({ GATE_CAPACITY: '1', REDIS_KEY_PREFIX: 'test:untrusting:' });
      for (const address of ['203.0.113.1', '203.0.113.2', '127.0.0.1', 'nonsense'])
        expect((await from(single, address)).body.streams).toHaveLength(2);
      expect((await get(single, streamPath('another'))).body.reason).toBe('capacity_busy');
    });

    it('with TRUST_PROXY the gate counts the address that the proxy saw, not an address that a client made up', async () => {
      const single = await world.startApi({
        GATE_CAPACITY: '1',
        REDIS_KEY_PREFIX: 'test:trusting:',
        TRUST_PROXY: '127.0.0.1,::1',
      });
      expect((await from(single, '203.0.113.1')).body.streams).toHaveLength(2);
      expect((await from(single, '203.0.113.2')).body.reason).toBe('capacity_busy');
      expect((await from(single, '203.0.113.1, 203.0.113.2')).body.reason).toBe('capacity_busy');
      expect((await from(single, '203.0.113.9, 203.0.113.1')).body.streams).toHaveLength(2);
      expect((await get(single, streamPath('203-0-113-1'))).body.reason).toBe('capacity_busy');
    });
  });

  it('without BROKER_URL the add-on has an empty catalogue and answers not_found', async () => {
    const alone = await world.startApi({ BROKER_URL: '', REDIS_KEY_PREFIX: 'test:no-broker:' });
    expect((await get(alone, 'manifest.json')).status).toBe(200);
    expect((await get(alone, `catalog/series/${CATALOGUE}.json`)).body.metas).toEqual([]);
    expect((await get(alone, streamPath('tv-1'))).body.reason).toBe('not_found');
  });
});

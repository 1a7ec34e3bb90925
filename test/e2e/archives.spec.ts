import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import { downsample } from '../../libs/streams/src/recording/downsample.js';
import { filesOf } from '../harness/archive.js';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { ProductProcess } from '../harness/process.js';
import { copyActivity, HOUR, recordingOf, storeActivities } from '../harness/recordings.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const DAY = recordingOf(22 * HOUR);
// An archive of so many recordings is larger than the socket buffers. So it stays open while its reader does not read.
const LARGE = 12;

describe('an athlete with long recordings', () => {
  let environment: TestEnvironment;
  let api: ProductProcess;
  let redis: Redis;
  let ids: readonly string[];
  const headersOf = async (athlete: string) => ({ authorization: `Bearer ${await tokenFor(athlete)}` });

  async function athleteId(athlete: string): Promise<string> {
    const { body } = await request(api.url)
      .get('/v1/me')
      .set(await headersOf(athlete))
      .expect(200);
    return (body as { athlete_id: string }).athlete_id;
  }

  beforeAll(async () => {
    environment = await testEnvironment();
    const { REDIS_URL: url = '', REDIS_KEY_PREFIX: keyPrefix = '' } = environment.env;
    redis = new Redis(url, { keyPrefix });
    api = await ProductProcess.start('api', environment.env);
    const databaseUrl = environment.env.DATABASE_URL ?? '';
    const recordings = [DAY, ...Array.from({ length: 20 }, () => recordingOf(60))];
    ids = await storeActivities(databaseUrl, await athleteId('long'), recordings);
    const [day = ''] = ids;
    for (const each of ['a', 'b', 'd'])
      await copyActivity(databaseUrl, day, { athleteId: await athleteId(each), count: LARGE });
  });
  afterAll(async () => {
    await api?.stop();
    redis.disconnect();
    await environment?.release();
  });

  async function archiveOf(athlete: string): Promise<Map<string, string>> {
    const answer = await fetch(`${api.url}/v1/account/export`, { headers: await headersOf(athlete) });
    expect(answer.status).toBe(200);
    return filesOf(Buffer.from(await answer.arrayBuffer()));
  }

  const linesOf = (files: Map<string, string>, name: string) =>
    [...files]
      .filter(([file]) => new RegExp(`^${name}-\\d{4}\\.ndjson$`).test(file))
      .flatMap(([, text]) => text.trimEnd().split('\n'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('an archive’s manifest names every file with its hash and its number of records', async () => {
    const files = await archiveOf('long');
    const { files: named, counts } = JSON.parse(files.get('manifest.json') ?? '') as {
      files: { file: string; records: number; sha256: string }[];
      counts: Record<string, number>;
    };
    expect(named.map(({ file }) => file)).toEqual(
      [...files.keys()].filter((file) => file !== 'manifest.json'),
    );
    for (const { file, records, sha256 } of named) {
      const text = files.get(file) ?? '';
      expect(createHash('sha256').update(text).digest('hex')).toBe(sha256);
      expect(text.match(/\n/g)).toHaveLength(records);
    }
    expect(counts).toMatchObject({ streams: ids.length, activities: ids.length, account: 1 });
    const streams = linesOf(files, 'streams');
    expect(new Set(streams.map(({ activity_id }) => activity_id))).toEqual(new Set(ids));
    const longest = streams.find(({ activity_id }) => activity_id === ids[0]);
    // The test compares text, because jest takes seconds to compare so many numbers.
    expect(JSON.stringify(longest?.stream_data)).toBe(JSON.stringify(DAY.channels));
    expect({ ...longest, stream_data: null }).toMatchObject({
      external_activity_id: ids[0],
      point_count: DAY.pointCount,
      channels_available: Object.keys(DAY.channels),
    });
  });

  it('an archive has the athlete’s issuer and subject, the receipts of deletions and the number of vendor calls', async () => {
    const id = await athleteId('known');
    const { body } = await request(api.url)
      .delete('/v1/account')
      .set(await headersOf('known'))
      .expect(202);
    const files = await archiveOf('known');
    expect(linesOf(files, 'account')).toEqual([
      { id, issuer: expect.any(String), subject: 'known', created_at: expect.any(String) },
    ]);
    expect(linesOf(files, 'receipts')).toMatchObject([
      { id: (body as { receipt_id: string }).receipt_id, what: 'account', completed_at: null },
    ]);
    const { counts } = JSON.parse(files.get('manifest.json') ?? '') as { counts: Record<string, number> };
    expect(counts).toHaveProperty('vendor_calls');
  });

  it('HEAD /v1/account/export answers 200 and makes no archive', async () => {
    for (let count = 0; count < 5; count += 1) {
      const answer = await fetch(`${api.url}/v1/account/export`, {
        method: 'HEAD',
        headers: await headersOf('a'),
      });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/gzip');
      expect(answer.headers.get('content-disposition')).toContain('pacekeeper-export.tar.gz');
    }
    // If a HEAD request had taken a place, the api would refuse this archive.
    const reader = await stall('a');
    reader.destroy();
  });

  it('the api answers 429 to an athlete’s second archive and to a process’s third, and frees the place of a reader who leaves', async () => {
    const requestArchive = async (athlete: string) =>
      fetch(`${api.url}/v1/account/export`, { headers: await headersOf(athlete) });
    await eventually(
      'the place is back',
      async () => (await statusAndLeave(await requestArchive('a'))) === 200,
    );
    const held = await eventually('all places are back', async () => {
      const readers = await Promise.all(['a', 'b'].map((one) => stall(one).catch(() => undefined)));
      if (readers.every(Boolean)) return readers as Socket[];
      for (const reader of readers) reader?.destroy();
      return undefined;
    });
    const [own, other] = await Promise.all([requestArchive('a'), requestArchive('d')]);
    expect([own.status, other.status]).toEqual([429, 429]);
    expect(await own.json()).toMatchObject({ code: 'ARCHIVE_UNDER_WAY' });
    expect(await other.json()).toMatchObject({ code: 'ARCHIVES_BUSY' });
    for (const { headers } of [own, other]) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    held[0]?.destroy();
    await eventually(
      'another has its place',
      async () => (await statusAndLeave(await requestArchive('d'))) === 200,
    );
    for (const reader of held) reader.destroy();
  });

  it.each(['leaves', 'loses its replica to kill -9'] as const)(
    'the api answers 429 to an athlete’s second archive at another replica until the reader of the first archive %s',
    async (how) => {
      const athlete = how === 'leaves' ? 'a' : 'b';
      const requestArchive = async () =>
        fetch(`${api.url}/v1/account/export`, { headers: await headersOf(athlete) });
      const replica = await ProductProcess.start('api', environment.env);
      const reader = await eventually('the place is back', () => stall(athlete, replica));
      const refused = await requestArchive();
      expect(refused.status).toBe(429);
      expect(await refused.json()).toMatchObject({ code: 'ARCHIVE_UNDER_WAY' });
      if (how === 'leaves') reader.destroy();
      else replica.signal('SIGKILL');
      // The test polls Redis, because the api limits requests.
      const lease = `archive:${await athleteId(athlete)}`;
      await eventually('the lease has ended', async () => (await redis.exists(lease)) === 0);
      await eventually('another is made', async () => (await statusAndLeave(await requestArchive())) === 200);
      reader.destroy();
      await replica.stop();
    },
  );

  it('60 readers who take nothing of a day’s streams cost less than 2 MB of memory each', async () => {
    const residentBytes = async () => {
      const text = await (await fetch(`${api.url}/metrics`)).text();
      return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
    };
    const before = await residentBytes();
    const path = `/v1/activities/${ids[0]}/streams`;
    const readers = await Promise.all(Array.from({ length: 60 }, () => stall('long', api, path)));
    expect((await residentBytes()) - before).toBeLessThan(readers.length * 2 * 1_024 * 1_024);
    for (const reader of readers) reader.destroy();
  });

  /** Reads the first bytes of an answer and then stops reading; rejects if the request is refused. */
  async function stall(athlete: string, from = api, path = '/v1/account/export'): Promise<Socket> {
    const { authorization } = await headersOf(athlete);
    const { hostname, port } = new URL(from.url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    if (first.toString('latin1').startsWith('HTTP/1.1 200 ')) return socket;
    socket.destroy();
    throw new Error(first.toString('latin1').slice(0, 200));
  }

  it('GET …/streams with ?points=2 to 50000 returns the streams of a day exactly as downsample() reduces them', async () => {
    const headers = await headersOf('long');
    for (const points of [2, 1_000, 1_001, 50_000]) {
      const { status, body } = await partOf(`/v1/activities/${ids[0]}/streams?points=${points}`, headers);
      expect(status).toBe(200);
      expect(JSON.stringify(body.stream_data)).toBe(JSON.stringify(downsample(DAY, points).channels));
    }
  });

  it('the api serves another athlete during 150 requests for cuts of streams, and the first athlete once these requests are aborted', async () => {
    const headers = await headersOf('long');
    const flood = new AbortController();
    const sent = Array.from({ length: 150 }, (_, n) =>
      fetch(`${api.url}/v1/activities/${ids[0]}/streams?points=${2_000 + n}`, {
        headers: { ...headers, 'accept-encoding': 'gzip' },
        signal: flood.signal,
      }).then(
        (answer) => answer.status,
        () => 0,
      ),
    );
    const { body } = await request(api.url)
      .get('/v1/activities?limit=1')
      .set(await headersOf('d'))
      .expect(200);
    const [{ id: theirs = '' } = {}] = (body as { items: { id: string }[] }).items;
    const part = await partOf(`/v1/activities/${theirs}/streams?points=100`, await headersOf('d'));
    expect(part.status).toBe(200);
    flood.abort();
    await Promise.all(sent);
    // The athlete's next cut does not wait for the aborted ones.
    const next = await partOf(`/v1/activities/${ids[0]}/streams?points=77`, headers);
    expect(next.status).toBe(200);
    expect(api.lines.filter(({ msg, status }) => msg === 'request failed' && status !== 503)).toEqual([]);
  });

  it('the api stops computing a cut of streams when its reader leaves, and serves the next reader', async () => {
    const headers = await headersOf('long');
    const path = `/v1/activities/${ids[0]}/streams`;
    // A cut takes about 100 ms. It can stop only between two steps. The longest step takes 30 ms.
    const moments = [10, 20, 40, 80, 160];
    let count = 0;
    const requestAndLeave = async () => {
      count += 1;
      const signal = AbortSignal.timeout(moments[count % moments.length] ?? 0);
      // Each request is for a different cut, so that none comes from the cache.
      const url = `${api.url}${path}?channels=latlng,altitude,heartrate,watts,n${count}`;
      await fetch(url, { headers, signal }).then(
        (answer) => answer.body?.cancel(),
        () => undefined,
      );
    };
    const madeBefore = await cuts('made');
    await eventually(
      'ten are given up',
      async () => {
        await requestAndLeave();
        return (await cuts('given_up')) >= 10;
      },
      120_000,
    );
    expect((await cuts('made')) - madeBefore).toBeLessThan(count);
    const { status, body } = await partOf(`${path}?points=9&channels=watts`, headers);
    expect(status).toBe(200);
    expect(body.stream_data).toEqual({ watts: downsample(DAY, 9).channels.watts });
  });

  /** Repeats the request after a 503, because a busy machine may not compute a cut in time. */
  async function partOf(path: string, headers: Record<string, string>): Promise<Part> {
    return eventually('a cut is made in time', async () => {
      const answer = await fetch(`${api.url}${path}`, { headers });
      const body = (await answer.json()) as Part['body'];
      return answer.status === 503 ? undefined : { status: answer.status, body };
    });
  }

  async function cuts(result: string): Promise<number> {
    const text = await (await fetch(`${api.url}/metrics`)).text();
    const [, count] = new RegExp(`^stream_cuts_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(text) ?? [];
    return Number(count ?? 0);
  }
});

interface Part {
  readonly status: number;
  readonly body: { readonly stream_data: object };
}

async function statusAndLeave(answer: Response): Promise<number> {
  await answer.body?.cancel();
  return answer.status;
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { type AddonAnswer, EPISODES, get, PlaybackWorld, streamPath } from '../harness/playback.js';
import { type ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';
import { required } from '../harness/servers.js';

const TRIES = 100;
const SLOW_MS = 1_000;

let world: PlaybackWorld;
let api: ProductProcess;
let replica: ProductProcess;
let session = 0;
beforeAll(async () => {
  world = await PlaybackWorld.open();
  [api, replica] = await Promise.all([world.startApi(ROOM), world.startApi(ROOM)]);
});
afterEach(() => world.simulator.clearFaults());
afterAll(() => world.close());

const ROOM = { GATE_CAPACITY: '10000' };

/** Nobody's yet, so that no test waits for what another has asked for. */
function someone(): string {
  session += 1;
  return `someone-${session}`;
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function resolvesSoFar(): Promise<number> {
  return world.simulator.calls('broker', 'resolve');
}

async function abortedCalls(): Promise<number> {
  const metrics = await (await fetch(`${api.url}/metrics`)).text();
  const [, count = '0'] =
    /^outbound_request_duration_seconds_count\{target="broker",outcome="aborted"\} (\d+)$/m.exec(metrics) ??
    [];
  return Number(count);
}

/** All that a client sees of an answer, but for its id and the time. */
function seen({ status, headers, text }: AddonAnswer): string {
  const {
    'x-request-id': _id,
    date: _date,
    connection: _connection,
    'keep-alive': _alive,
    ...rest
  } = headers;
  return JSON.stringify([status, rest, text]);
}

/** The same answer for all of them, and one that a player can do something with. */
function expectOneAnswer(answers: readonly AddonAnswer[], reason: string, plays: boolean): void {
  expect(answers.length).toBeGreaterThanOrEqual(TRIES);
  expect([...new Set(answers.map(seen))]).toHaveLength(1);
  const [{ status, headers, body }] = answers as [AddonAnswer];
  expect(status).toBe(200);
  expect(headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' });
  expect(body).toMatchObject({ reason, message: expect.stringMatching(/^[A-Z].*\.$/) });
  const url = `${api.url}/addon/clips/${reason}.mp4`;
  expect(body.streams?.map((stream) => stream.url)).toEqual(plays ? [url] : []);
}

describe('the same cause has the same bytes', () => {
  it('policy_blocked, by the broker and for a session that is none', async () => {
    const answers = await Promise.all(
      times(TRIES, (index) => get(api, streamPath(index % 2 ? 'a.b' : `blocked-${index}`))),
    );
    expectOneAnswer(answers, 'policy_blocked', false);
  });

  it('not_found, by the broker and for a type that is none of ours', async () => {
    const paths = times(TRIES, (index) =>
      index % 2 ? streamPath(someone(), 'nothing') : 'stream/movie/tt1.json',
    );
    expectOneAnswer(await Promise.all(paths.map((path) => get(api, path))), 'not_found', false);
  });

  it('capacity_busy', async () => {
    const full = await world.startApi({
      GATE_CAPACITY: '1',
      REDIS_KEY_PREFIX: 'test:full:',
      PUBLIC_URL: api.url,
    });
    expect((await get(full, streamPath('first'))).body.streams).toHaveLength(2);
    const answers = await Promise.all(times(TRIES, () => get(full, streamPath(someone()))));
    expectOneAnswer(answers, 'capacity_busy', false);
    expect((await get(full, streamPath('first'))).body.streams).toHaveLength(2);
    await full.stop();
  });

  it('superseded', async () => {
    await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: SLOW_MS });
    const switchingFive = async () => {
      const viewer = someone();
      return Promise.all(EPISODES.map((episode) => get(api, streamPath(viewer, episode))));
    };
    // A few at a time: all five have to arrive while the first is still waited for.
    const rounds: AddonAnswer[][] = [];
    while (rounds.length < TRIES / 4) rounds.push(...(await Promise.all(times(5, switchingFive))));
    for (const answers of rounds) expect(answers.filter(({ body }) => !body.reason)).toHaveLength(1);
    expectOneAnswer(
      rounds.flat().filter(({ body }) => body.reason),
      'superseded',
      false,
    );
  });

  it('dependency_timeout', async () => {
    await world.simulator.fault('broker', 'resolve', 'timeout');
    const answers = await Promise.all(times(TRIES, () => get(api, streamPath(someone()))));
    expectOneAnswer(answers, 'dependency_timeout', true);
  });

  it('broker_error', async () => {
    await world.simulator.fault('broker', 'resolve', 'http_500');
    const answers = await Promise.all(times(TRIES, () => get(api, streamPath(someone()))));
    expectOneAnswer(answers, 'broker_error', true);
  });

  it('redis_unavailable', async () => {
    const redis = await Proxy.before(required('REDIS_URL'));
    const cutOff = await world.startApi({ ...ROOM, REDIS_URL: redis.url, PUBLIC_URL: api.url });
    redis.cut();
    const answers = await Promise.all(times(TRIES, () => get(cutOff, streamPath(someone()))));
    expectOneAnswer(answers, 'redis_unavailable', true);
    await cutOff.stop();
    await redis.close();
  });
});

describe("each of the broker's faults is one cause", () => {
  const faults: ReadonlyArray<readonly [kind: string, cause: string]> = [
    ['http_500', 'broker_error'],
    ['http_429', 'broker_error'],
    ['html', 'broker_error'],
    ['reset', 'broker_error'],
    ['lost_answer', 'broker_error'],
    ['wrong_length', 'broker_error'],
    ['malformed', 'broker_error'],
    ['empty', 'broker_error'],
    ['empty_json', 'broker_error'],
    ['not_found', 'not_found'],
    ['timeout', 'dependency_timeout'],
    ['half_open', 'dependency_timeout'],
    ['slow', 'dependency_timeout'],
    ['slow_body', 'dependency_timeout'],
  ];
  it.each(faults)('%s is %s', async (kind, cause) => {
    await world.simulator.fault('broker', 'resolve', kind);
    const startedAtMs = performance.now();
    const { status, body } = await get(api, streamPath(someone()));
    expect([status, body.reason]).toEqual([200, cause]);
    expect(performance.now() - startedAtMs).toBeLessThan(5_000);
  });

  it.each(['http_500', 'http_429', 'reset', 'timeout'])('%s once is survived', async (kind) => {
    await world.simulator.fault('broker', 'resolve', kind, { count: 1 });
    expect((await get(api, streamPath(someone()))).body.streams).toHaveLength(2);
  });

  it('slow within the deadline is waited for', async () => {
    await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: 500 });
    expect((await get(api, streamPath(someone()))).body.streams).toHaveLength(2);
  });

  it('a catalogue that cannot be had is told, one that was had is shown', async () => {
    const own = await world.startApi({ ...ROOM, PUBLIC_URL: api.url });
    const browse = () => get(own, 'catalog/series/guided-workouts.json');
    await world.simulator.fault('broker', 'catalog', 'malformed');
    expect((await browse()).body).toMatchObject({ metas: [], reason: 'broker_error' });
    expect((await browse()).headers['cache-control']).toBe('no-store');
    const { status, body } = await get(own, 'meta/series/pacekeeper:base-building.json');
    expect([status, body.meta?.id, body.reason]).toEqual([200, 'pacekeeper:base-building', 'broker_error']);
    await world.simulator.clearFaults();
    expect((await browse()).body.metas?.length).toBeGreaterThan(1);
    await world.simulator.fault('broker', 'catalog', 'http_500');
    expect((await browse()).body.metas?.length).toBeGreaterThan(1);
    await own.stop();
  });

  it('one that is not there at all is broker_error', async () => {
    const lost = await world.startApi({ ...ROOM, BROKER_URL: 'http://127.0.0.1:9/broker' });
    expect((await get(lost, streamPath(someone()))).body.reason).toBe('broker_error');
    await lost.stop();
  });
});

describe('requests of one client', () => {
  it('are one call where they are alike, in whatever process', async () => {
    await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: SLOW_MS });
    const before = await resolvesSoFar();
    const viewer = someone();
    const answers = await Promise.all(
      times(100, (index) => get(index % 2 ? api : replica, streamPath(viewer))),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.body.streams).toHaveLength(2);
    expect((await resolvesSoFar()) - before).toBe(1);
  });

  it('are the last one where the episode is switched five times in 200 ms', async () => {
    await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: SLOW_MS });
    const viewer = someone();
    const asked: Array<Promise<AddonAnswer>> = [];
    for (const episode of EPISODES) {
      asked.push(get(api, streamPath(viewer, episode)));
      await pause(40);
    }
    const answers = await Promise.all(asked);
    const reasons = answers.map(({ body }) => body.reason);
    expect(reasons).toEqual([...times(4, () => 'superseded'), undefined]);
    expect(answers.at(-1)?.text).toContain('base-building-s01e05-360p.mp4');
  });

  it('are ended when the client goes away', async () => {
    await world.simulator.fault('broker', 'resolve', 'timeout');
    const before = await resolvesSoFar();
    const aborted = await abortedCalls();
    const leaving = new AbortController();
    const viewer = someone();
    const asked = fetch(`${api.url}/addon/${streamPath(viewer)}`, { signal: leaving.signal });
    await eventually('the broker is asked', async () => (await resolvesSoFar()) > before);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    // The call to the broker is given up, rather than waited for until its time is over.
    await eventually('the call has ended', async () => (await abortedCalls()) > aborted);
    await world.simulator.clearFaults();
    expect((await get(api, streamPath(viewer))).body.streams).toHaveLength(2);
  });
});

describe('Redis', () => {
  it.each(['cut', 'freeze'] as const)(
    '%s in the middle of it leaves nobody without an answer',
    async (way) => {
      const redis = await Proxy.before(required('REDIS_URL'));
      const own = await world.startApi({ ...ROOM, REDIS_URL: redis.url });
      await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: SLOW_MS });
      const before = await resolvesSoFar();
      const admitted = times(50, () => get(own, streamPath(someone())));
      await eventually('they wait for the broker', async () => (await resolvesSoFar()) - before >= 50);
      redis[way]();
      const startedAtMs = performance.now();
      const late = await Promise.all(times(50, () => get(own, streamPath(someone()))));
      expect(performance.now() - startedAtMs).toBeLessThan(5_000);
      for (const { status, body } of late) expect([status, body.reason]).toEqual([200, 'redis_unavailable']);
      // They have their places: what they wait for needs no Redis any more.
      for (const { body } of await Promise.all(admitted)) expect(body.streams).toHaveLength(2);
      redis.heal();
      await world.simulator.clearFaults();
      await eventually('admitted again', async () => !(await get(own, streamPath(someone()))).body.reason);
      await own.stop();
      await redis.close();
    },
  );
});

it('a session is told to nobody: not in a log, a metric or a trace', async () => {
  const secret = 'c0ffee-of-the-living-room';
  const spans: Buffer[] = [];
  const collector = createServer((request, answer) => {
    request.on('data', (bytes: Buffer) => spans.push(bytes)).on('end', () => answer.end('{}'));
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const redis = await Proxy.before(required('REDIS_URL'));
  const own = await world.startApi({
    ...ROOM,
    GATE_CAPACITY: '1',
    REDIS_URL: redis.url,
    REDIS_KEY_PREFIX: 'test:secret:',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
  });
  const ask = (path: string) => get(own, path);
  for (const kind of ['http_500', 'malformed', 'timeout', 'reset']) {
    await world.simulator.fault('broker', 'resolve', kind);
    await ask(streamPath(secret));
    await world.simulator.clearFaults();
  }
  await ask(streamPath(`${secret}-2`));
  for (const path of ['manifest.json', 'catalog/series/x.json', 'nothing', '%zz', 'meta/series/x.json'])
    await ask(`${secret}/${path}`);
  redis.cut();
  await ask(streamPath(secret));
  await own.line(({ msg }) => msg.includes('redis'));
  const metrics = await (await fetch(`${own.url}/metrics`)).text();
  expect(metrics).toMatch(/playback_stream_answers_total\{outcome="redis_unavailable"\} 1/);
  // What it has not sent yet it sends when it stops.
  await own.stop();
  const traces = Buffer.concat(spans).toString();
  expect(traces).toContain('/addon/:session/stream/:type/:id.json');
  expect(own.lines.filter(({ msg }) => msg === 'request').length).toBeGreaterThan(10);
  const told = `${JSON.stringify(own.lines)}${own.stderr}${metrics}${traces}`;
  expect(told).not.toContain(secret);
  collector.close();
  await redis.close();
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
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

/** A new session, so that no test joins the requests of another test. */
function newSession(): string {
  session += 1;
  return `session-${session}`;
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

/** The parts of an answer that must not differ: everything except the request id, the time and the connection. */
function stableParts({ status, headers, text }: AddonAnswer): string {
  const {
    'x-request-id': _id,
    date: _date,
    connection: _connection,
    'keep-alive': _alive,
    ...rest
  } = headers;
  return JSON.stringify([status, rest, text]);
}

/** Expects identical answers with this reason. If `plays` is true, the answers must have the clip of the reason. */
function expectOneAnswer(answers: readonly AddonAnswer[], reason: string, plays: boolean): void {
  expect(answers.length).toBeGreaterThanOrEqual(TRIES);
  expect([...new Set(answers.map(stableParts))]).toHaveLength(1);
  const [{ status, headers, body }] = answers as [AddonAnswer];
  expect(status).toBe(200);
  expect(headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' });
  expect(body).toMatchObject({ reason, message: expect.stringMatching(/^[A-Z].*\.$/) });
  const url = `${api.url}/addon/clips/${reason}.mp4`;
  expect(body.streams?.map((stream) => stream.url)).toEqual(plays ? [url] : []);
}

describe('answers of one cause are identical', () => {
  it('policy_blocked answers are identical for a broker’s refusal and for a malformed session', async () => {
    const answers = await Promise.all(
      times(TRIES, (index) => get(api, streamPath(index % 2 ? 'a.b' : `blocked-${index}`))),
    );
    expectOneAnswer(answers, 'policy_blocked', false);
  });

  it('not_found answers are identical, for an unknown episode and for an unknown type', async () => {
    const paths = times(TRIES, (index) =>
      index % 2 ? streamPath(newSession(), 'nothing') : 'stream/movie/tt1.json',
    );
    expectOneAnswer(await Promise.all(paths.map((path) => get(api, path))), 'not_found', false);
  });

  it('capacity_busy answers are identical, and the session that has the place keeps the place', async () => {
    const full = await world.startApi({
      GATE_CAPACITY: '1',
      REDIS_KEY_PREFIX: 'test:full:',
      PUBLIC_URL: api.url,
    });
    expect((await get(full, streamPath('first'))).body.streams).toHaveLength(2);
    const answers = await Promise.all(times(TRIES, () => get(full, streamPath(newSession()))));
    expectOneAnswer(answers, 'capacity_busy', false);
    expect((await get(full, streamPath('first'))).body.streams).toHaveLength(2);
    await full.stop();
  });

  it('superseded answers are identical, and only one of a viewer’s five episodes plays', async () => {
    await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: SLOW_MS });
    const switchingFive = async () => {
      const viewer = newSession();
      return Promise.all(EPISODES.map((episode) => get(api, streamPath(viewer, episode))));
    };
    // The test has only a few viewers at a time, because all five requests of a viewer must arrive before the first answer.
    const rounds: AddonAnswer[][] = [];
    while (rounds.length < TRIES / 4) rounds.push(...(await Promise.all(times(5, switchingFive))));
    for (const answers of rounds) expect(answers.filter(({ body }) => !body.reason)).toHaveLength(1);
    expectOneAnswer(
      rounds.flat().filter(({ body }) => body.reason),
      'superseded',
      false,
    );
  });

  it('dependency_timeout answers are identical and play a clip', async () => {
    await world.simulator.fault('broker', 'resolve', 'timeout');
    const answers = await Promise.all(times(TRIES, () => get(api, streamPath(newSession()))));
    expectOneAnswer(answers, 'dependency_timeout', true);
  });

  it('broker_error answers are identical and play a clip', async () => {
    await world.simulator.fault('broker', 'resolve', 'http_500');
    const answers = await Promise.all(times(TRIES, () => get(api, streamPath(newSession()))));
    expectOneAnswer(answers, 'broker_error', true);
  });

  it('redis_unavailable answers are identical and play a clip', async () => {
    const redis = await Proxy.before(required('REDIS_URL'));
    const cutOff = await world.startApi({ ...ROOM, REDIS_URL: redis.url, PUBLIC_URL: api.url });
    redis.cut();
    const answers = await Promise.all(times(TRIES, () => get(cutOff, streamPath(newSession()))));
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
  it.each(faults)('the broker’s fault %s is answered as %s within five seconds', async (kind, cause) => {
    await world.simulator.fault('broker', 'resolve', kind);
    const startedAtMs = performance.now();
    const { status, body } = await get(api, streamPath(newSession()));
    expect([status, body.reason]).toEqual([200, cause]);
    expect(performance.now() - startedAtMs).toBeLessThan(5_000);
  });

  it.each(['http_500', 'http_429', 'reset', 'timeout'])(
    'a single %s of the broker is retried, and the episode plays',
    async (kind) => {
      await world.simulator.fault('broker', 'resolve', kind, { count: 1 });
      expect((await get(api, streamPath(newSession()))).body.streams).toHaveLength(2);
    },
  );

  it('the add-on waits for a broker that answers after 500 ms', async () => {
    await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: 500 });
    expect((await get(api, streamPath(newSession()))).body.streams).toHaveLength(2);
  });

  it('the add-on answers broker_error while it has no catalogue, and shows a cached catalogue while the broker fails', async () => {
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

  it('a broker that refuses connections is answered as broker_error', async () => {
    const lost = await world.startApi({ ...ROOM, BROKER_URL: 'http://127.0.0.1:9/broker' });
    expect((await get(lost, streamPath(newSession()))).body.reason).toBe('broker_error');
    await lost.stop();
  });
});

describe('requests of one client', () => {
  // They join one call only while the broker takes its second, so there are no more of them than a busy machine admits in that time.
  it('twenty identical requests at two replicas make one call to the broker', async () => {
    await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: SLOW_MS });
    const before = await resolvesSoFar();
    const viewer = newSession();
    const answers = await Promise.all(
      times(20, (index) => get(index % 2 ? api : replica, streamPath(viewer))),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.body.streams).toHaveLength(2);
    expect((await resolvesSoFar()) - before).toBe(1);
  });

  it('a viewer who switches through five episodes gets the last episode, and superseded for the others', async () => {
    await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: SLOW_MS });
    const viewer = newSession();
    const before = await resolvesSoFar();
    const requests: Array<Promise<AddonAnswer>> = [];
    for (const episode of EPISODES) {
      requests.push(get(api, streamPath(viewer, episode)));
      // Requests on different connections may overtake each other.
      await eventually(
        `${episode} is requested`,
        async () => (await resolvesSoFar()) - before >= requests.length,
      );
    }
    const answers = await Promise.all(requests);
    const reasons = answers.map(({ body }) => body.reason);
    expect(reasons).toEqual([...times(4, () => 'superseded'), undefined]);
    expect(answers.at(-1)?.text).toContain('base-building-s01e05-360p.mp4');
  });

  it('a client that leaves aborts its call to the broker, and the add-on serves its next request', async () => {
    await world.simulator.fault('broker', 'resolve', 'timeout');
    const before = await resolvesSoFar();
    const aborted = await abortedCalls();
    const leaving = new AbortController();
    const viewer = newSession();
    const requests = fetch(`${api.url}/addon/${streamPath(viewer)}`, { signal: leaving.signal });
    await eventually('the broker is called', async () => (await resolvesSoFar()) > before);
    leaving.abort();
    await expect(requests).rejects.toThrow();
    // The add-on aborts the call to the broker before the call's time-out.
    await eventually('the call has ended', async () => (await abortedCalls()) > aborted);
    await world.simulator.clearFaults();
    expect((await get(api, streamPath(viewer))).body.streams).toHaveLength(2);
  });
});

describe('Redis during playback', () => {
  it.each(['cut', 'freeze'] as const)(
    'an outage of Redis (%s) answers redis_unavailable to new sessions and sources to admitted ones',
    async (way) => {
      const redis = await Proxy.before(required('REDIS_URL'));
      const own = await world.startApi({ ...ROOM, REDIS_URL: redis.url });
      await world.simulator.fault('broker', 'resolve', 'slow', { delay_ms: SLOW_MS });
      const before = await resolvesSoFar();
      const admitted = times(50, () => get(own, streamPath(newSession())));
      await eventually(
        'fifty sessions wait for the broker',
        async () => (await resolvesSoFar()) - before >= 50,
      );
      redis[way]();
      const startedAtMs = performance.now();
      const late = await Promise.all(times(50, () => get(own, streamPath(newSession()))));
      expect(performance.now() - startedAtMs).toBeLessThan(5_000);
      for (const { status, body } of late) expect([status, body.reason]).toEqual([200, 'redis_unavailable']);
      // These sessions have their places already. The rest of their requests needs no Redis.
      for (const { body } of await Promise.all(admitted)) expect(body.streams).toHaveLength(2);
      redis.heal();
      await world.simulator.clearFaults();
      await eventually('admitted again', async () => !(await get(own, streamPath(newSession()))).body.reason);
      await own.stop();
      await redis.close();
    },
  );
});

it('a session appears in no log, metric or trace', async () => {
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
  const send = (path: string) => get(own, path);
  for (const kind of ['http_500', 'malformed', 'timeout', 'reset']) {
    await world.simulator.fault('broker', 'resolve', kind);
    await send(streamPath(secret));
    await world.simulator.clearFaults();
  }
  await send(streamPath(`${secret}-2`));
  for (const path of ['manifest.json', 'catalog/series/x.json', 'nothing', '%zz', 'meta/series/x.json'])
    await send(`${secret}/${path}`);
  redis.cut();
  await send(streamPath(secret));
  await own.line(({ msg }) => msg.includes('redis'));
  const metrics = await (await fetch(`${own.url}/metrics`)).text();
  expect(metrics).toMatch(/playback_stream_answers_total\{outcome="redis_unavailable"\} 1/);
  // The process sends its last spans at its end.
  await own.stop();
  const traces = Buffer.concat(spans).toString();
  expect(traces).toContain('/addon/:session/stream/:type/:id.json');
  expect(own.lines.filter(({ msg }) => msg === 'request').length).toBeGreaterThan(10);
  const output = `${JSON.stringify(own.lines)}${own.stderr}${metrics}${traces}`;
  expect(output).not.toContain(secret);
  collector.close();
  await redis.close();
});

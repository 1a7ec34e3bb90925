import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../../test/harness/eventually.js';
import { PushWorld, silent } from '../push.harness.js';
import { cursorOf, placeOf } from './cursor.js';
import { EventStreams, type StreamQuery } from './event-streams.js';
import { MOST_OF_ATHLETE } from './places.js';

interface Event {
  readonly id: string;
  readonly event?: string;
  readonly data?: { readonly subject_id: string };
}

interface Client {
  readonly answer: IncomingMessage;
  readonly events: Event[];
  isClosed: boolean;
}

let world: PushWorld;
let server: Server;
let streams: EventStreams;
let query: Omit<StreamQuery, 'signal'>;
let opened: Promise<void>;
let answers: ServerResponse[];
beforeAll(async () => {
  world = await PushWorld.start();
  server = createServer((_, answer) => {
    answers.push(answer);
    const closed = new AbortController();
    answer.once('close', () => closed.abort(new Error('the client has left')));
    opened = streams.open({ ...query, signal: closed.signal }, () => (answer.flushHeaders(), answer));
    opened.catch(({ code }: { code: string }) => answer.writeHead(503).end(code));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
beforeEach(async () => {
  await world.reset();
  answers = [];
  streams = new EventStreams(world.feed, world.tail, silent);
  query = {
    athleteId: athlete,
    types: undefined,
    after: undefined,
    owner: { name: athlete },
    assertAllowed: () => Promise.resolve(),
  };
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await world.stop();
});

afterEach(() => {
  streams.beforeApplicationShutdown();
  jest.useRealTimers();
});

const HEARTBEAT_MS = 15_000;
const MANY = 3_000;
const athlete = randomUUID();
const other = randomUUID();
const subjects = ({ events }: Client) => events.flatMap(({ data }) => (data ? [data.subject_id] : []));

/** From now on, heartbeats of streams come from `jest.advanceTimersByTime`, and all other timers run as before. */
const controlHeartbeats = () =>
  void jest.useFakeTimers({
    doNotFake: [
      'Date',
      'performance',
      'nextTick',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
      'setTimeout',
      'clearTimeout',
    ],
  });

/** Stores some 60 MB of changes, far more than sockets hold. */
async function storeMany(): Promise<void> {
  await world.sql.query(
    `insert into change_outbox (type, athlete_id, subject_id, data)
     select 'sleep.stored', $1, n, json_build_object('text', repeat('x', 20000)) from generate_series(0, $2 - 1) as n`,
    [athlete, MANY],
  );
  await world.news.sequence();
}

function follow({ answer, events }: Client): void {
  let text = '';
  answer.on('data', (bytes: Buffer) => {
    const parts = (text += bytes.toString()).split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) events.push(eventIn(part));
  });
}

async function connect({ isReading = true } = {}): Promise<Client> {
  const { port } = server.address() as AddressInfo;
  const answer = await new Promise<IncomingMessage>((resolve, reject) =>
    get({ host: '127.0.0.1', port, agent: false }, resolve).on('error', reject),
  );
  const client: Client = { answer, events: [], isClosed: false };
  answer.on('error', () => undefined);
  answer.on('close', () => (client.isClosed = true));
  if (isReading) follow(client);
  if (isReading && answer.statusCode === 200)
    await eventually('the first event', () => client.events.length > 0);
  return client;
}

function eventIn(part: string): Event {
  const fields = Object.fromEntries(
    part.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return { ...fields, ...(fields.data && { data: JSON.parse(fields.data) as object }) } as Event;
}

describe('a stream of changes', () => {
  it('an event stream begins at the head with a cursor, and sends the athlete’s changes with their type and cursor', async () => {
    await world.change(athlete, 'before');
    const client = await connect();
    expect(client.events).toEqual([{ retry: '1000', id: cursorOf(await world.feed.head()) }]);
    await world.change(other, 'of another athlete');
    await world.change(athlete, '1');
    await world.change(athlete, '2', { type: 'sleep.removed', data: null });
    await eventually('both changes', () => subjects(client).length === 2);
    expect(subjects(client)).toEqual(['1', '2']);
    expect(client.events.map(({ event }) => event)).toEqual([undefined, 'sleep.stored', 'sleep.removed']);
    const first = placeOf(client.events[1]!.id, 'id');
    expect((await world.page({ athleteId: athlete, after: first })).items).toHaveLength(1);
    client.answer.destroy();
  });

  it('an event stream ends without sending a change once its reader is no longer allowed', async () => {
    let isRevoked = false;
    query = {
      ...query,
      assertAllowed: () => (isRevoked ? Promise.reject(new Error('revoked')) : Promise.resolve()),
    };
    const client = await connect();
    await world.change(athlete, 'before');
    await eventually('the change', () => subjects(client).length === 1);
    isRevoked = true;
    await world.change(athlete, 'after');
    await eventually('the end', () => client.isClosed);
    expect(subjects(client)).toEqual(['before']);
  });

  it('an event stream goes on after the last event of a client that connects again, without a gap and without a repetition', async () => {
    const seen: string[] = [];
    const total = 300;
    query = { ...query, after: await world.feed.head() };
    const writing = (async () => {
      for (let n = 0; n < total; n += 1) await world.change(athlete, `${n}`);
    })();
    while (seen.length < total) {
      const client = await connect();
      const from = seen.length;
      await eventually('some more', () => subjects(client).length >= Math.min(40, total - from));
      client.answer.destroy();
      await eventually('the end', () => client.isClosed);
      seen.push(...subjects(client));
      query = { ...query, after: placeOf(client.events.at(-1)!.id, 'id') };
    }
    await writing;
    expect(seen).toEqual(Array.from({ length: total }, (_, n) => `${n}`));
  });

  it('an event stream holds one page for a client that takes no bytes, drops it at the second heartbeat, and sends it the rest after its last event', async () => {
    controlHeartbeats();
    query = { ...query, after: await world.feed.head() };
    await storeMany();
    const slow = await connect({ isReading: false });
    const quick = await connect();
    await eventually('all changes', () => subjects(quick).length === MANY, 60_000);
    // One page of a hundred changes beside what the sockets hold, and not 60 MB.
    expect(answers[0]!.writableLength).toBeGreaterThan(0);
    expect(answers[0]!.writableLength).toBeLessThan(2_100_000);
    jest.advanceTimersByTime(HEARTBEAT_MS);
    expect(answers[0]!.destroyed).toBe(false);
    jest.advanceTimersByTime(HEARTBEAT_MS);
    expect(answers.map(({ destroyed }) => destroyed)).toEqual([true, false]);

    follow(slow);
    await eventually('the end', () => slow.isClosed);
    query = { ...query, after: placeOf(slow.events.at(-1)!.id, 'id') };
    const again = await connect();
    const seen = () => [...subjects(slow), ...subjects(again)];
    await eventually('the rest', () => seen().length >= MANY, 60_000);
    expect(seen()).toEqual(Array.from({ length: MANY }, (_, n) => `${n}`));
    for (const { answer } of [quick, again]) answer.destroy();
  }, 120_000);

  it('an event stream keeps a slow client that takes a page between heartbeats', async () => {
    controlHeartbeats();
    query = { ...query, after: await world.feed.head() };
    await storeMany();
    const { answer } = await connect({ isReading: false });
    const writes = jest.spyOn(answers[0]!, 'write');
    answer.resume();
    for (let round = 1; round <= 4; round += 1) {
      const before = writes.mock.calls.length;
      await eventually('a further page is sent', () => writes.mock.calls.length > before);
      answer.pause();
      await eventually('a page waits', () => answers[0]!.writableLength > 0);
      jest.advanceTimersByTime(HEARTBEAT_MS);
      expect([round, answers[0]!.destroyed]).toEqual([round, false]);
      answer.resume();
    }
    answer.destroy();
  }, 120_000);

  it('a further event stream of the same athlete is refused, and a stream whose client leaves frees its place', async () => {
    const clients = [];
    for (let n = 0; n < MOST_OF_ATHLETE; n += 1) clients.push(await connect());
    expect((await connect()).answer.statusCode).toBe(503);
    clients[0]!.answer.destroy();
    await eventually('a free place', async () => {
      const client = await connect();
      clients.push(client);
      return client.answer.statusCode === 200;
    });
    for (const { answer } of clients) answer.destroy();
  });

  it('a stream of events is not opened for a client that leaves while its first read waits for a turn, and its place is free', async () => {
    query = { ...query, after: await world.feed.head() };
    await world.whileReadsHang(async () => {
      const { port } = server.address() as AddressInfo;
      const arrived = new Promise<void>((resolve) => server.once('request', () => resolve()));
      const client = get({ host: '127.0.0.1', port, agent: false }).on('error', () => undefined);
      await arrived;
      client.destroy();
      await expect(opened).rejects.toThrow('the client has left');
    });
    const clients = [];
    for (let n = 0; n < MOST_OF_ATHLETE; n += 1) clients.push(await connect());
    expect(clients.map(({ answer }) => answer.statusCode)).toEqual(Array(MOST_OF_ATHLETE).fill(200));
    for (const { answer } of clients) answer.destroy();
  });

  it('an event stream ends when the process stops', async () => {
    const client = await connect();
    streams.beforeApplicationShutdown();
    await eventually('the end', () => client.isClosed);
    expect(client.answer.complete).toBe(true);
  });
});

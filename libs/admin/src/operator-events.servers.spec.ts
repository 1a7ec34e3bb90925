import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { randomUUID } from 'node:crypto';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DependencyUnavailable, Unauthenticated } from '#platform';
import { PushWorld, silent } from '../../push/src/push.harness.js';
import { eventually } from '../../../test/harness/eventually.js';
import { type Observability } from './observability.js';
import { OperatorEvents } from './operator-events.js';

interface Event {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

interface Client {
  readonly answer: IncomingMessage;
  readonly events: Event[];
  pings: number;
  isClosed: boolean;
}

const athlete = randomUUID();
const OPERATOR = 'an operator';
const MOST_OF_OPERATOR = 5;

let world: PushWorld;
let server: Server;
let events: OperatorEvents;
let overview: Record<string, unknown>;
let overviewReads: number;
let failure: Error | undefined;
let assertAllowed: () => Promise<void>;
const clients: Client[] = [];

beforeAll(async () => {
  world = await PushWorld.start();
  server = createServer((_, answer) => {
    try {
      const options = { operator: OPERATOR, assertAllowed: () => assertAllowed() };
      events.open(options, () => (answer.flushHeaders(), answer));
    } catch (error) {
      answer.writeHead(503).end((error as { code: string }).code);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
beforeEach(async () => {
  await world.reset();
  overview = { stuck_failed: 0, backfill: [] };
  overviewReads = 0;
  failure = undefined;
  assertAllowed = () => Promise.resolve();
  const read = () => {
    overviewReads += 1;
    return failure ? Promise.reject(failure) : Promise.resolve(overview);
  };
  events = new OperatorEvents(world.feed, world.tail, { read } as unknown as Observability, silent);
  events.onApplicationBootstrap();
});
afterEach(async () => {
  for (const { answer } of clients.splice(0)) answer.destroy();
  await events.beforeApplicationShutdown();
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await world.stop();
});

async function connect({ isReading = true } = {}): Promise<Client> {
  const { port } = server.address() as AddressInfo;
  const answer = await new Promise<IncomingMessage>((resolve, reject) =>
    get({ host: '127.0.0.1', port, agent: false }, resolve).on('error', reject),
  );
  const client: Client = { answer, events: [], pings: 0, isClosed: false };
  clients.push(client);
  answer.on('error', () => undefined);
  answer.on('close', () => (client.isClosed = true));
  if (isReading) read(client);
  if (isReading && answer.statusCode === 200)
    await eventually('the overview', () => named(client, 'overview').length > 0);
  return client;
}

function read(client: Client): void {
  let text = '';
  client.answer.on('data', (bytes: Buffer) => {
    const parts = (text += bytes.toString()).split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(part) ?? [];
      if (event && data) client.events.push({ event, data: JSON.parse(data) as Event['data'] });
      else if (part.startsWith(':')) client.pings += 1;
    }
  });
}

const named = ({ events: all }: Client, name: string) =>
  all.filter(({ event }) => event === name).map(({ data }) => data);

/** Changes count from the first place that the loop knows. */
async function untilFollowing(client: Client): Promise<void> {
  await eventually('a first change', async () => {
    await world.change(athlete, 'first');
    await world.news.sequence();
    return named(client, 'change').length + named(client, 'changes').length > 0;
  });
}

describe('events of operators', () => {
  it('the event stream of an operator names a change of any athlete without its data', async () => {
    const client = await connect();
    await untilFollowing(client);
    await world.change(athlete, 'night', { data: { secret: 'of the athlete' } });
    await world.news.sequence();
    const isNight = ({ subject_id }: Event['data']) => subject_id === 'night';
    await eventually('the change', () => named(client, 'change').some(isNight));
    expect(named(client, 'change').find(isNight)).toEqual({
      type: 'sleep.stored',
      athlete_id: athlete,
      subject_id: 'night',
      revision: expect.any(Number),
    });
  });

  it('the event stream of an operator sends one event in place of many changes', async () => {
    const client = await connect();
    await untilFollowing(client);
    const before = client.events.length;
    await world.sql.query(
      `insert into change_outbox (type, athlete_id, subject_id, data)
       select 'sleep.stored', $1, n::text, '{}' from generate_series(1, 200) n`,
      [athlete],
    );
    await world.news.sequence();
    await eventually('the event', () => named(client, 'changes').length > 0);
    expect(named(client, 'changes').at(-1)).toEqual({ many: true });
    expect(client.events.length - before).toBeLessThan(20);
  });

  it('the event stream of an operator sends the overview at once, and again only if it has changed', async () => {
    const first = await connect();
    const reads = overviewReads;
    await eventually('two more reads', () => overviewReads >= reads + 2, 20_000);
    expect(named(first, 'overview')).toEqual([{ stuck_failed: 0, backfill: [] }]);
    overview = { stuck_failed: 1, backfill: [] };
    await eventually('the new overview', () => named(first, 'overview').length === 2);
    const second = await connect();
    expect(named(second, 'overview')).toEqual([{ stuck_failed: 1, backfill: [] }]);
  });

  it('the event stream of an operator sends no overview in which only the end of an unused window differs', async () => {
    overview = { backfill: [], window: { used: 0, resets_at: new Date(0) } };
    const client = await connect();
    overview = { backfill: [], window: { used: 0, resets_at: new Date(1) } };
    const reads = overviewReads;
    await eventually('two more reads', () => overviewReads >= reads + 2, 20_000);
    expect(named(client, 'overview')).toHaveLength(1);
    overview = { backfill: [], window: { used: 1, resets_at: new Date(1) } };
    await eventually('the new overview', () => named(client, 'overview').length === 2);
  });

  it('the event stream of an operator names a server without which there is no overview, once, and then sends the overview again', async () => {
    const client = await connect();
    failure = new DependencyUnavailable('postgres');
    await eventually('the server', () => named(client, 'unavailable').length > 0);
    const reads = overviewReads;
    await eventually('another read', () => overviewReads > reads, 20_000);
    expect(named(client, 'unavailable')).toEqual([{ server: 'postgres' }]);
    // As the client of Redis says it.
    failure = new Error('Connection is closed.');
    await eventually('the other server', () => named(client, 'unavailable').length === 2);
    expect(named(client, 'unavailable').at(-1)).toEqual({ server: 'redis' });
    failure = undefined;
    await eventually('the same overview', () => named(client, 'overview').length === 2);
  });

  it('the event streams of operators read a long overview less often, and forbidden streams end meanwhile', async () => {
    overview = { backfill: Array.from({ length: 1_000 }, () => ({})) };
    const client = await connect();
    const reads = overviewReads;
    assertAllowed = () => Promise.reject(new Unauthenticated('The token has expired'));
    await eventually('the end', () => client.isClosed);
    expect(overviewReads).toBe(reads);
  });

  it('the event streams of five operators read the overview once, and without operators it is not read', async () => {
    for (let n = 0; n < MOST_OF_OPERATOR; n += 1) await connect();
    const startedAt = performance.now();
    const reads = overviewReads;
    await eventually('two more reads', () => overviewReads >= reads + 2, 20_000);
    expect(performance.now() - startedAt).toBeGreaterThan(1_500);
    for (const { answer } of clients) answer.destroy();
    await eventually('all have left', () => clients.every(({ isClosed }) => isClosed));
    // A place is free again once the server has noticed the end.
    await eventually('a free place', async () => (await connect()).answer.statusCode === 200);
  });

  it('the event stream of an operator ends when the token has ended, and stays while a server is away', async () => {
    const client = await connect();
    assertAllowed = () => Promise.reject(new DependencyUnavailable('postgres'));
    const reads = overviewReads;
    await eventually('two more reads', () => overviewReads >= reads + 2, 20_000);
    expect(client.isClosed).toBe(false);
    assertAllowed = () => Promise.reject(new Unauthenticated('The token has expired'));
    await eventually('the end', () => client.isClosed);
    expect(client.answer.complete).toBe(true);
  });

  it('a sixth event stream of one operator is refused', async () => {
    for (let n = 0; n < MOST_OF_OPERATOR; n += 1) await connect();
    expect((await connect()).answer.statusCode).toBe(503);
  });

  it('the event stream of an operator buffers little for a client that takes no bytes, and later sends it the newest overview and `changes`', async () => {
    const quick = await connect();
    const slow = await connect({ isReading: false });
    await untilFollowing(quick);
    for (let n = 0; n < 8; n += 1) {
      const seen = named(quick, 'overview').length;
      overview = { n, backfill: [], text: 'x'.repeat(3_000_000) };
      await eventually('the overview', () => named(quick, 'overview').length > seen);
      await world.change(athlete, `${n}`);
      await world.news.sequence();
    }
    const sent = named(quick, 'overview').length;
    read(slow);
    await eventually('the newest overview', () => named(slow, 'overview').at(-1)?.['n'] === 7, 20_000);
    expect(named(slow, 'overview').length).toBeLessThan(sent);
    expect(named(slow, 'changes').length).toBeGreaterThan(0);
  }, 60_000);

  it('all event streams of operators end when the process stops', async () => {
    const client = await connect();
    await events.beforeApplicationShutdown();
    await eventually('the end', () => client.isClosed);
    expect(client.answer.complete).toBe(true);
  });
});

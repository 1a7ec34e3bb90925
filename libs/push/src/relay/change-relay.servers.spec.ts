import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import {
  ClaimLost,
  connectNats,
  CORE_STREAM,
  ensureStream,
  EventBus,
  fenceRejected,
  storedMessages,
} from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { NatsServer } from '../../../../test/harness/nats-server.js';
import { testWorkers } from '../../../../test/harness/test-workers.js';
import { ChangeRecords } from '../deletion/change-records.js';
import { ChangeRemains } from '../deletion/change-remains.js';
import { PushWorld, silent } from '../push.harness.js';
import { ChangeRelay } from './change-relay.js';
import { RelayStore } from './relay-store.js';

interface Message {
  readonly subject: string;
  readonly id: string;
  readonly seq: number;
  readonly body: {
    readonly id: string;
    readonly type: string;
    readonly subject_id: string;
    readonly data: object | null;
  };
}

let world: PushWorld;
let nats: NatsServer;
let connection: NatsConnection;
let manager: JetStreamManager;
beforeAll(async () => {
  world = await PushWorld.start();
  nats = await NatsServer.start();
  connection = await connectNats(nats.url, 'test');
  manager = await jetstreamManager(connection);
  await ensureStream(manager, { name: CORE_STREAM, subjects: ['athlete-ally.>'] });
});
beforeEach(async () => {
  await world.reset();
  await manager.streams.purge(CORE_STREAM);
  const { state } = await manager.streams.info(CORE_STREAM);
  await world.sql.query('update change_relay set stream_seq = $1', [state.last_seq]);
});
afterAll(async () => {
  await connection.close();
  await nats.stop();
  await world.stop();
});

const athlete = randomUUID();
const other = randomUUID();
const remains = () => new ChangeRemains(connection, world.open.database);

const relayWith = (bus: Pick<EventBus, 'publishText'>) =>
  new ChangeRelay(
    new RelayStore(world.open.database),
    bus as EventBus,
    connection,
    testWorkers(),
    world.news,
    silent,
  );
const relay = () => relayWith(new EventBus(connection));

async function messages(): Promise<Message[]> {
  const all: Message[] = [];
  for await (const batch of storedMessages(connection, { stream: CORE_STREAM, subject: 'athlete-ally.>' }))
    for (const message of batch) {
      const { subject, headers, seq } = message;
      all.push({ subject, seq, id: headers?.get('Nats-Msg-Id') ?? '', body: message.json() });
    }
  return all;
}

const ids = async () =>
  (await world.sql.query<{ id: string }>('select id from change order by seq')).rows.map(({ id }) => id);
const unknownSequences = async () =>
  (await world.sql.query("select from change where published_as is null and type <> 'erased'")).count;

async function insert(count: number): Promise<void> {
  await world.sql.query(
    `insert into change_outbox (type, athlete_id, subject_id, data)
     select 'sleep.stored', $1, n, '{"vendor":"oura"}' from generate_series(1, $2) as n`,
    [athlete, count],
  );
  await world.news.sequence();
}

/** A bus that ends like a killed process after that many publishes: the stream has the messages, but the relay gets no acknowledgement. */
function dyingAfter(publishes: number): Pick<EventBus, 'publishText'> {
  const bus = new EventBus(connection);
  let left = publishes;
  return {
    publishText: async (message) => {
      if (left <= 0) throw new Error('killed');
      left -= 1;
      await bus.publishText(message);
      throw new Error('killed');
    },
  };
}

describe('the relay', () => {
  it('the relay publishes each change once on the subject of its type, in order, with its id, and stores the sequence', async () => {
    await world.change(athlete, '2026-11-18', { data: { vendor: 'oura' } });
    await world.change(other, other, { type: 'athlete.deleted', data: null });
    await insert(1_200);
    await relay().drain();
    const published = await messages();
    expect(published.map(({ id }) => id)).toEqual(await ids());
    expect(published.slice(0, 2).map(({ subject }) => subject)).toEqual([
      'athlete-ally.changes.sleep.stored',
      'athlete-ally.changes.athlete.deleted',
    ]);
    const page = await world.page({ limit: 1 });
    expect(published[0]!.body).toMatchObject({
      id: page.items[0]!.id,
      athlete_id: athlete,
      subject_id: '2026-11-18',
      data: { subject: '2026-11-18', vendor: 'oura' },
    });
    expect(published[1]!.body.data).toBeNull();
    const { rows } = await world.sql.query<{ seq: string }>(
      'select published_as as seq from change order by seq',
    );
    expect(rows.map(({ seq }) => Number(seq))).toEqual(published.map(({ seq }) => seq));
    const before = published.length;
    await relay().drain();
    expect(await messages()).toHaveLength(before);
  });

  it('the relay publishes every change under its id, and knows every sequence, after relays died at any step', async () => {
    await insert(700);
    for (const publishes of [0, 1, 250, 499, 500]) await relayWith(dyingAfter(publishes)).drain();
    await relay().drain();
    const published = await messages();
    expect(new Set(published.map(({ id }) => id))).toEqual(new Set(await ids()));
    expect(published).toHaveLength(700);
    expect(await unknownSequences()).toBe(0);
  });

  it('a relay goes on once the lease of a frozen relay has ended, and every later write of the frozen one is rejected and counted', async () => {
    await insert(10);
    const store = new RelayStore(world.open.database);
    const dead = (await store.claim(60_000))!;
    await relay().drain();
    expect(await messages()).toEqual([]);
    await world.sql.query("update change_relay set leased_until = now() - interval '1 second'");
    await relay().drain();
    expect(await messages()).toHaveLength(10);
    const published = await world.sql.query('select seq, published_as from change order by seq');
    fenceRejected.reset();
    await expect(store.store(dead, '3', [])).rejects.toThrow(ClaimLost);
    const found = new Map((await ids()).map((id) => [id, 1_000_000]));
    await expect(store.storeFound(dead, found, 500)).rejects.toThrow(ClaimLost);
    expect(await store.settle(dead, false)).toBe(false);
    const { rows } = await world.sql.query('select seq, published_as from change order by seq');
    expect(rows).toEqual(published.rows);
    expect((await fenceRejected.get()).values).toMatchObject([
      { labels: { kind: 'change_relay' }, value: 3 },
    ]);
  });

  it('two relays at a time publish all changes once', async () => {
    const relays = [relay(), relay()];
    for (let round = 0; round < 5; round += 1) {
      await insert(300);
      await Promise.all(relays.map((one) => one.drain()));
    }
    await relays[0]!.drain();
    expect((await messages()).map(({ id }) => id).sort()).toEqual((await ids()).sort());
  });

  it('the relay waits while NATS is away, and then publishes all', async () => {
    await insert(20);
    await nats.kill();
    await relay().drain();
    const { rows } = await world.sql.query(
      'select published_seq::int as seq, leased_until from change_relay',
    );
    expect(rows).toEqual([{ seq: 0, leased_until: null }]);
    await nats.start();
    await eventually('all are published', async () => {
      await relay().drain();
      return (await messages()).length === 20;
    });
    expect(await unknownSequences()).toBe(0);
  });

  it('the relay publishes a change without its data if it is too large for a message, and the changes behind it', async () => {
    await world.change(athlete, 'large', { data: { text: 'x'.repeat(1_200_000) } });
    await world.change(athlete, 'next');
    await world.news.sequence();
    await relay().drain();
    expect((await messages()).map(({ body }) => [body.subject_id, body.data === null])).toEqual([
      ['large', true],
      ['next', false],
    ]);
  });
});

describe('a deletion of changes', () => {
  const departure = { athlete_id: athlete };

  async function deleteRows(provider: string | null): Promise<number> {
    let deleted = 0;
    for (let some = -1; some !== 0; deleted += some)
      some = await new ChangeRecords().deleteSome(world.sql, athlete, {}, provider);
    return deleted;
  }

  async function erase(): Promise<number> {
    let deleted = 0;
    await remains().erase([departure], (_, count) => Promise.resolve(void (deleted += count)));
    return deleted;
  }

  it('the deletion of an account’s changes leaves only athlete.deleted in the log and in NATS, and touches nothing of another athlete', async () => {
    await insert(1_100);
    await world.change(other, 'kept');
    await relay().drain();
    await world.change(athlete, 'waiting');
    await world.change(athlete, athlete, { type: 'athlete.deleted', data: null });
    expect(await deleteRows(null)).toBe(1_101);
    await world.news.sequence();
    await relay().drain();
    expect(await erase()).toBe(1_100);
    expect((await messages()).map(({ body }) => [body.type, body.subject_id])).toEqual([
      ['sleep.stored', 'kept'],
      ['athlete.deleted', athlete],
    ]);
    const { rows } = await world.sql.query(
      'select distinct type, athlete_id, subject_id, published_as is null as is_unpublished, data::text from change order by type',
    );
    expect(rows).toEqual([
      {
        type: 'athlete.deleted',
        athlete_id: athlete,
        subject_id: athlete,
        is_unpublished: false,
        data: null,
      },
      { type: 'erased', athlete_id: null, subject_id: null, is_unpublished: true, data: null },
      {
        type: 'sleep.stored',
        athlete_id: other,
        subject_id: 'kept',
        is_unpublished: false,
        data: '{"subject":"kept"}',
      },
    ]);
    expect(await erase()).toBe(0);
  });

  it('a deletion of one vendor’s changes leaves connection.removed and the changes of another vendor', async () => {
    const add = async () => {
      await world.change(athlete, 'night of oura', { data: { vendor: 'oura' } });
      await world.change(athlete, 'night of whoop', { data: { vendor: 'whoop' } });
      await world.change(athlete, 'import of oura', { type: 'import.completed', data: { provider: 'oura' } });
      await world.change(athlete, 'oura', { type: 'connection.active', data: { provider: 'oura' } });
      await world.change(athlete, 'oura', { type: 'connection.removed', data: null });
    };
    await add();
    await world.news.sequence();
    await relay().drain();
    await add();
    expect(await deleteRows('oura')).toBe(6);
    await world.news.sequence();
    await relay().drain();
    expect(await erase()).toBe(3);
    const kept = ['night of whoop', 'oura', 'night of whoop', 'oura'];
    expect((await messages()).map(({ body }) => body.subject_id)).toEqual(kept);
    expect((await world.page()).items.map(({ subject_id }) => subject_id)).toEqual(kept);
  });

  it('a deletion of changes waits for the relay, which may have read the changes before the deletion, and deletes what a dead relay has published', async () => {
    await insert(5);
    await relayWith(dyingAfter(5)).drain();
    expect(await messages()).toHaveLength(5);
    await deleteRows(null);
    await expect(erase()).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' });
    await relay().drain();
    expect(await erase()).toBe(5);
    expect(await messages()).toEqual([]);
  });

  it('a deletion of changes spares a message of another change that has the stored sequence, as after a restore of NATS', async () => {
    await insert(3);
    await relay().drain();
    await world.sql.query('update change set published_as = published_as + 1');
    await deleteRows(null);
    expect(await erase()).toBe(0);
    expect(await messages()).toHaveLength(3);
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { createLogger, NotFound } from '#platform';
import { Proxy } from '../../../../test/harness/proxy.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { NORMALISE_DURABLE } from './normaliser.js';
import { SleepWorld } from '../../../../test/harness/sleep-world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const POISONED = new URL('../../../../test/harness/poisoned-normaliser.mjs', import.meta.url).pathname;
const RAW = 'athlete-ally.sleep.raw-received';
const STORED = 'athlete-ally.sleep.normalized-stored';
const REMOVED = 'athlete-ally.sleep.removed';
const night = { userId: 'user-456', date: '2025-10-02', durationMinutes: 420 };

describe('the sleep pipeline', () => {
  let world: SleepWorld;
  beforeAll(async () => {
    world = await SleepWorld.start();
  });
  afterAll(() => world?.stop());
  beforeEach(async () => {
    await world.rows('truncate sleep_session, sleep_data');
    for (const stream of ['AA_CORE_HOT', 'AA_DLQ']) await world.manager.streams.purge(stream);
  });
  afterEach(() => world.stopWorkers());

  const stored = async () => (await world.events('AA_CORE_HOT', STORED)).map((event) => event.json());
  const letters = async () => (await world.letters.list(0, 100)).items;
  const nights = () =>
    world.rows(
      'select user_id, date::text, duration_minutes, quality_score, vendor, event_id from sleep_data order by 1, 2',
    );

  it('stores a night, publishes it under an id made from the event, and acknowledges the message', async () => {
    await world.startWorker();
    const capturedAt = '2025-10-02T08:30:00Z';
    const raw = { source: 'oura', qualityScore: 85, deepSleep: 120 };
    const eventId = await world.publish({ ...night, capturedAt, raw });
    await world.settled();
    expect(await nights()).toEqual([
      {
        user_id: 'user-456',
        date: '2025-10-02',
        duration_minutes: 420,
        quality_score: 85,
        vendor: 'oura',
        event_id: eventId,
      },
    ]);
    const events = await world.events('AA_CORE_HOT', STORED);
    expect(events.map((event) => event.json())).toEqual([
      { record: { ...night, qualityScore: 85, vendor: 'oura', capturedAt } },
    ]);
    expect(events[0]?.header.get('Nats-Msg-Id')).toBe(`${STORED}:${eventId}`);
    expect(await world.rows('select raw from sleep_session')).toEqual([{ raw: JSON.stringify(raw) }]);
  });

  it('an event whose header received-at is no time counts as received when the stream got it', async () => {
    const carried = headers();
    carried.set('received-at', 'yesterday');
    const text = JSON.stringify({ eventId: 'e1', payload: night });
    await jetstream(world.connection).publish(RAW, text, { msgID: 'e1', headers: carried });
    await world.startWorker();
    await world.settled();
    expect(await nights()).toMatchObject([{ user_id: 'user-456', event_id: 'e1' }]);
    expect(await letters()).toEqual([]);
  });

  it('a dead letter with JSON that is nested too deeply to be printed is listed as text', async () => {
    const text = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    await world.publishText(text);
    await world.startWorker();
    await world.settled();
    expect(await letters()).toMatchObject([{ payload: text }]);
  });

  it('the normaliser logs one line for each stored night', async () => {
    const lines: Array<Record<string, unknown>> = [];
    const destination = { write: (text: string) => void lines.push(JSON.parse(text) as (typeof lines)[0]) };
    for (let n = 0; n < 200; n += 1) await world.publish({ ...night, userId: `user-${n}` });
    await world.startWorker({ logger: createLogger({ level: 'info', process: 'test', destination }) });
    await world.settled();
    const stored = lines.filter(({ msg }) => msg === 'sleep data processed');
    expect(stored).toHaveLength(200);
    expect(new Set(stored.map(({ streamSeq }) => streamSeq)).size).toBe(200);
    expect(stored[0]).toMatchObject({ level: 'info', deliverySeq: expect.any(Number), redeliveries: 0 });
    expect(JSON.stringify(lines)).not.toContain('user-');
  });

  it('publishes a night without a score, with vendor unknown for other vendors', async () => {
    await world.startWorker();
    await world.publish({ ...night, capturedAt: '2025-10-02T08:30:00.5Z', raw: { source: 'garmin' } });
    await world.settled();
    expect(await stored()).toEqual([
      { record: { ...night, vendor: 'unknown', capturedAt: '2025-10-02T08:30:00.500Z' } },
    ]);
  });

  it('dates a raw night without capturedAt by its time in the stream', async () => {
    await world.startWorker();
    await world.publish(night);
    await world.settled();
    const [raw] = await world.events('AA_CORE_HOT', 'athlete-ally.sleep.raw-received');
    const [row] = await world.rows<{ captured_at: Date }>('select captured_at from sleep_data');
    expect(row?.captured_at.getTime()).toBe(raw?.time.getTime());
  });

  it('a later night without capturedAt wins over a night that a client dates a day ahead', async () => {
    await world.startWorker();
    const capturedAt = new Date((await world.natsNow()).getTime() + 86_400_000).toISOString();
    await world.publish({ ...night, durationMinutes: 400, capturedAt });
    await world.settled();
    await world.publish(night);
    await world.settled();
    expect(await nights()).toMatchObject([{ duration_minutes: 420 }]);
  });

  it('an older raw night never overwrites a newer raw night, and the newer night is published last', async () => {
    await world.startWorker();
    const at = (hour: number) => `2025-10-02T${String(hour).padStart(2, '0')}:00:00Z`;
    for (const hour of [9, 7, 11, 8, 11]) {
      await world.publish(
        { ...night, durationMinutes: 400 + hour, capturedAt: at(hour) },
        `h${hour}`,
        crypto.randomUUID(),
      );
      await world.settled();
    }
    expect(await nights()).toEqual([expect.objectContaining({ duration_minutes: 411, event_id: 'h11' })]);
    expect(
      (await stored()).map((event) => (event as { record: { capturedAt: string } }).record.capturedAt),
    ).toEqual([at(9), at(11)]);
  });

  it('stores the newer night if two events have the same id', async () => {
    await world.startWorker();
    for (const [minutes, capturedAt] of [
      [420, '2025-10-02T08:00:00Z'],
      [390, '2025-10-02T12:00:00Z'],
    ] as const) {
      await world.publish({ ...night, durationMinutes: minutes, capturedAt }, 'same', crypto.randomUUID());
      await world.settled();
    }
    expect(await nights()).toEqual([expect.objectContaining({ duration_minutes: 390 })]);
  });

  it('stores a night whose raw JSON has NUL, lone surrogates and large numbers', async () => {
    await world.startWorker();
    await world.publish({ ...night, raw: { note: 'a\u0000b\ud800"\\{}', big: 1e300 } });
    await world.settled();
    expect(await nights()).toHaveLength(1);
  });

  it('a published night continues the trace of its event, also if the worker itself is not traced', async () => {
    await world.startWorker();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const carried = headers();
    carried.set('traceparent', traceparent);
    const text = JSON.stringify({ eventId: 'traced', payload: night });
    await jetstream(world.connection).publish(RAW, text, { headers: carried });
    await world.settled();
    const [event] = await world.events('AA_CORE_HOT', STORED);
    expect(event?.header.get('traceparent')).toBe(traceparent);
  });

  it('scenario 4, schema validation failure at the normalize layer: a dead letter with the bytes, and no second delivery', async () => {
    await world.startWorker();
    await world.publishText('{"eventId":"e1","payload":{"userId":"u1","date":"2025-10-02"}}');
    await world.publishText('not json');
    await world.settled();
    expect(await letters()).toEqual([
      expect.objectContaining({
        subject: 'dlq.normalize.sleep.raw-received.schema-invalid',
        reason: 'schema-invalid',
        attempts: 1,
        error: 'payload.durationMinutes: Required',
        payload: { eventId: 'e1', payload: { userId: 'u1', date: '2025-10-02' } },
      }),
      expect.objectContaining({ reason: 'schema-invalid', error: 'not JSON', payload: 'not json' }),
    ]);
    expect(await nights()).toEqual([]);
  });

  it('keeps a malformed raw night until the stream takes its dead letter', async () => {
    const { config } = await world.manager.streams.info('AA_DLQ');
    await world.manager.streams.update('AA_DLQ', { ...config, max_msg_size: 1 });
    await world.startWorker();
    await world.publishText('not json');
    const redelivered = async () =>
      (await world.manager.consumers.info('AA_CORE_HOT', NORMALISE_DURABLE)).num_redelivered;
    await eventually('a second delivery', async () => (await redelivered()) > 0);
    await world.manager.streams.update('AA_DLQ', config);
    await eventually('the dead letter', async () => (await letters()).length > 0);
    await world.settled();
    expect(await letters()).toEqual([expect.objectContaining({ error: 'not JSON', payload: 'not json' })]);
  });

  it('keeps the dead letters of the old and the new stream if a stream is recreated with the same sequences', async () => {
    for (const [index, text] of ['one', 'two'].entries()) {
      const { config } = await world.manager.streams.info('AA_CORE_HOT');
      await world.manager.streams.delete('AA_CORE_HOT');
      await world.manager.streams.add(config);
      await world.publishText(text);
      await world.startWorker();
      await eventually('a dead letter', async () => (await letters()).length === index + 1);
      await world.stopWorkers();
    }
    expect((await letters()).map(({ payload }) => payload)).toEqual(['one', 'two']);
  });

  it('discards a dead letter once if four operators do so at the same time', async () => {
    await world.startWorker();
    await world.publishText('one');
    const { seq } = await eventually('a dead letter', async () => (await letters())[0]);
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => world.letters.discard(seq)));
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(NotFound);
    expect(await letters()).toEqual([]);
  });

  it('discarded and replayed dead letters do not come back from a NATS that was killed and has lost the place of its consumer', async () => {
    await world.startWorker();
    for (const text of ['kept', 'discarded', 'replayed', 'discarded with others'])
      await world.publishText(text);
    const payloads = async () => (await letters()).map(({ payload }) => payload);
    const [, discarded, replayed, other] = await eventually('four dead letters', async () => {
      const all = await letters();
      return all.length === 4 ? all : undefined;
    });
    await world.letters.discard(discarded?.seq ?? 0);
    await world.letters.replay(replayed?.seq ?? 0);
    const range = await world.letters.match({});
    for await (const { letters: some } of world.letters.matching({ seqs: [other?.seq ?? 0] }, 0, range))
      await world.letters.discardAll(some);
    await eventually('the replayed one has failed again', async () => (await letters()).length === 2);
    const before = await payloads();
    await world.stopWorkers();

    await world.nats.losePlace('AA_CORE_HOT', NORMALISE_DURABLE);
    await world.nats.start();
    const pending = async () =>
      (await world.manager.consumers.info('AA_CORE_HOT', NORMALISE_DURABLE)).num_pending;
    // The kept one, and the replayed one under its new sequence.
    await eventually('the stream is delivered again', async () => (await pending().catch(() => 0)) >= 2);
    await world.startWorker();
    await world.settled();
    expect(before).toEqual(['kept', 'replayed']);
    expect(await payloads()).toEqual(before);
  });

  it('dead-letters a poisoned raw night and stores the other 999', async () => {
    await refuse(world, 'poison');
    try {
      for (let n = 0; n < 1_000; n += 1)
        await world.publish({ ...night, userId: n === 500 ? 'poison' : `user-${n}` }, `event-${n}`);
      await world.startWorker();
      await world.settled(90_000);
      expect(await nights()).toHaveLength(999);
      expect(await letters()).toEqual([
        expect.objectContaining({
          subject: 'dlq.normalize.sleep.raw-received.non-retryable',
          attempts: 1,
          error: expect.stringContaining('poisoned'),
          payload: expect.objectContaining({ eventId: 'event-500' }),
        }),
      ]);
      expect(await stored()).toHaveLength(999);
    } finally {
      await world.rows('drop trigger refused on sleep_session');
    }
  });

  it('the sleep consumer continues with new events after NATS was killed and is back', async () => {
    await world.startWorker();
    await world.publish(night, 'before');
    await world.settled();
    await world.nats.kill();
    await world.nats.start();
    await eventually('a publish', () =>
      world.publish({ ...night, date: '2025-10-03' }, 'after').catch(() => null),
    );
    await eventually('the second night', async () => (await nights()).length === 2, 90_000);
  });

  it('three workers share the sleep durable, and store and publish each night once', async () => {
    await Promise.all([world.startWorker(), world.startWorker(), world.startWorker()]);
    for (let n = 0; n < 300; n += 1) await world.publish({ ...night, userId: `user-${n}` });
    await world.settled();
    expect(await nights()).toHaveLength(300);
    expect(await stored()).toHaveLength(300);
  });

  describe('while Postgres is away', () => {
    let proxy: Proxy;
    beforeEach(async () => {
      proxy = await Proxy.before(world.testDatabase.url);
      await world.startWorker({ databaseUrl: proxy.url });
    });
    afterEach(async () => {
      proxy.heal();
      await world.stopWorkers();
      await proxy.close();
    });

    it('scenario 3, database connection failure: the messages are held, no delivery is used up, all are stored and published', async () => {
      proxy.cut();
      for (let n = 0; n < 50; n += 1) await world.publish({ ...night, userId: `user-${n}` });
      const info = () => world.manager.consumers.info('AA_CORE_HOT', 'normalize-sleep-durable');
      await eventually('they are held', async () => (await info()).num_ack_pending === 50);
      // Later messages stay in the stream.
      for (let n = 50; n < 3_000; n += 1) await world.publish({ ...night, userId: `user-${n}` });
      const before = proxy.connectionCount;
      await eventually('several tries', () => proxy.connectionCount >= before + 5, 60_000);
      const { num_ack_pending, num_redelivered } = await info();
      expect(num_ack_pending).toBeLessThanOrEqual(1_500);
      expect(num_redelivered).toBe(0);
      proxy.heal();
      await world.settled(90_000);
      expect(await nights()).toHaveLength(3_000);
      expect(await stored()).toHaveLength(3_000);
      expect(await letters()).toEqual([]);
    });

    it('begins no trial of a raw night without deliveries left, so that stops of workers during the outage use up none', async () => {
      const durable = 'normalize-sleep-durable';
      const advisories = () => world.manager.consumers.info('AA_ADVISORY', `${durable}-undelivered`);
      const eventId = await world.publish(night);
      await world.settled();
      const { delivered } = await advisories();
      const [{ seq: stream_seq } = { seq: 0 }] = await world.events('AA_CORE_HOT', RAW);
      proxy.cut();
      // As the server reports it after five stops of workers during the outage.
      const advisory = { stream: 'AA_CORE_HOT', consumer: durable, stream_seq, deliveries: 5 };
      const subject = `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.AA_CORE_HOT.${durable}`;
      await jetstream(world.connection).publish(subject, JSON.stringify(advisory));
      const before = proxy.connectionCount;
      await eventually('several looks', () => proxy.connectionCount >= before + 2, 60_000);
      await world.stopWorkers();
      expect((await advisories()).delivered.consumer_seq).toBe(delivered.consumer_seq);
      proxy.heal();
      await world.startWorker();
      await eventually('the trial', async () => {
        const { num_pending, num_ack_pending } = await advisories();
        return num_pending + num_ack_pending === 0;
      });
      expect(await nights()).toMatchObject([{ event_id: eventId }]);
      expect(await letters()).toEqual([]);
    });
  });

  it('dead-letters a raw night after five deliveries with a passing database error, and its replay succeeds', async () => {
    await refuse(world, 'unlucky', '40001');
    try {
      await world.startWorker();
      await world.publish({ ...night, userId: 'unlucky' }, 'unlucky-1');
      const [dead] = await eventually(
        'a dead letter',
        async () => {
          const found = await letters();
          return found.length > 0 ? found : undefined;
        },
        90_000,
      );
      expect(dead).toMatchObject({
        subject: 'dlq.normalize.sleep.raw-received.max-deliver',
        attempts: 5,
        payload: { eventId: 'unlucky-1' },
      });
      await world.rows('drop trigger refused on sleep_session');
      await world.letters.replay(dead?.seq ?? 0);
      await world.settled();
      expect(await nights()).toEqual([expect.objectContaining({ user_id: 'unlucky' })]);
      expect(await letters()).toEqual([]);
    } finally {
      await world.rows('drop trigger if exists refused on sleep_session');
    }
  });

  describe('a batch whose worker is killed at every delivery', () => {
    const DEADLY = 'deadly';
    /**
     * Takes all messages five times and naks them, in place of a worker that dies at every delivery. Each test takes another `count`, because
     * NATS stores an id once.
     */
    const killedFiveTimes = async (count: number, ...deadlyAt: number[]) => {
      await world.startWorker();
      await world.settled();
      await world.stopWorkers();
      const { jetstream } = await import('@nats-io/jetstream');
      const consumers = jetstream(world.connection).consumers;
      const consumer = await consumers.get('AA_CORE_HOT', 'normalize-sleep-durable');
      for (let n = 0; n < count; n += 1)
        await world.publish(
          {
            ...night,
            userId: deadlyAt.includes(n) ? DEADLY : `innocent-${n}`,
            date: `2025-10-${10 + n}`,
          },
          `of-${count}-${n}`,
        );
      for (let delivery = 1; delivery <= 5; delivery += 1)
        for await (const message of await consumer.fetch({ max_messages: count, expires: 5_000 })) {
          expect(message.info.deliveryCount).toBe(delivery);
          message.nak();
        }
      // The server sends its advisories at the sixth delivery.
      expect(await consumer.next({ expires: 1_000 })).toBeNull();
    };

    const poisonedWorker = (...more: string[]) =>
      spawn(process.execPath, [POISONED, world.testDatabase.url, world.nats.url, DEADLY, ...more], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });

    /** Sends NATS a nak in the name of a dead worker. Without it, NATS would deliver the advisory again 30 s after that worker has died. */
    const nakForDeadWorker = async () => {
      const [stream, durable] = ['AA_ADVISORY', 'normalize-sleep-durable-undelivered'];
      const { delivered, num_ack_pending } = await world.manager.consumers.info(stream, durable);
      expect(num_ack_pending).toBe(1);
      const { stream_seq, consumer_seq } = delivered;
      world.connection.publish(`$JS.ACK.${stream}.${durable}.1.${stream_seq}.${consumer_seq}.0.0`, '-NAK');
    };

    it('tries each raw night alone after a batch has killed its worker, publishes valid nights and dead-letters the others', async () => {
      await refuse(world, DEADLY);
      try {
        await killedFiveTimes(10, 3);
        await world.startWorker();
        const dead = await eventually('a dead letter', async () => (await letters())[0]);
        await eventually('the nine others', async () => (await nights()).length === 9);
        expect(dead).toMatchObject({
          subject: 'dlq.normalize.sleep.raw-received.non-retryable',
          payload: { eventId: 'of-10-3' },
        });
        await eventually('they are published', async () => (await stored()).length === 9);
        expect(await letters()).toHaveLength(1);
      } finally {
        await world.rows('drop trigger refused on sleep_session');
      }
    });

    it('a raw night that kills its worker uses up no trial of another raw night, which is tried alone and published', async () => {
      await killedFiveTimes(2);
      await world.publish({ ...night, userId: DEADLY }, 'deadly');
      const child = poisonedWorker();
      expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
      const advisories = await world.manager.consumers.info(
        'AA_ADVISORY',
        'normalize-sleep-durable-undelivered',
      );
      expect(advisories.num_ack_pending).toBe(0);
      // The night of DEADLY kills no worker of this process.
      await world.startWorker();
      await eventually('all nights', async () => (await nights()).length === 3, 60_000);
      expect(await letters()).toEqual([]);
    });

    it('two raw nights of one batch that kill their workers become dead letters after two trials each, and each other night is stored and published once', async () => {
      await killedFiveTimes(9, 3, 6);
      const workers = Array.from({ length: 5 }, () => poisonedWorker('0'));
      const killed = () => workers.filter(({ signalCode }) => signalCode === 'SIGKILL').length;
      try {
        for (const trial of [1, 2, 3, 4]) {
          await eventually(`${trial} workers are killed`, () => killed() === trial, 60_000);
          await nakForDeadWorker();
        }
        await eventually('two dead letters', async () => (await letters()).length === 2, 60_000);
        await eventually('the seven others', async () => (await stored()).length === 7, 60_000);
        await eventually('no trial is left', async () => {
          const advisories = await world.manager.consumers.info(
            'AA_ADVISORY',
            'normalize-sleep-durable-undelivered',
          );
          return advisories.num_pending + advisories.num_ack_pending === 0;
        });
        expect(await letters()).toMatchObject(
          ['of-9-3', 'of-9-6'].map((eventId) => ({
            subject: 'dlq.normalize.sleep.raw-received.max-deliver',
            payload: { eventId },
          })),
        );
        const innocents = [0, 1, 2, 4, 5, 7, 8];
        expect(await nights()).toMatchObject(innocents.map((n) => ({ event_id: `of-9-${n}` })));
        expect((await stored()) as object[]).toMatchObject(
          innocents.map((n) => ({ record: { userId: `innocent-${n}` } })),
        );
        expect(killed()).toBe(4);
      } finally {
        for (const worker of workers) worker.kill('SIGKILL');
        await Promise.all(workers.map(async (worker) => worker.signalCode ?? once(worker, 'exit')));
      }
    });

    it('dead-letters a raw night that kills its worker twice more when the night is tried alone', async () => {
      await killedFiveTimes(1, 0);
      const { jetstream } = await import('@nats-io/jetstream');
      const advisories = await jetstream(world.connection).consumers.get(
        'AA_ADVISORY',
        'normalize-sleep-durable-undelivered',
      );
      // No other worker gets an advisory meanwhile, so a worker that dies can only have died of this message.
      expect((await advisories.info()).config.max_ack_pending).toBe(1);
      for (const trial of [1, 2]) {
        const advisory = await advisories.next({ expires: 5_000 });
        expect(advisory?.info.deliveryCount).toBe(trial);
        advisory?.nak();
      }
      await world.startWorker();
      const dead = await eventually('a dead letter', async () => (await letters())[0]);
      expect(dead).toMatchObject({
        subject: 'dlq.normalize.sleep.raw-received.max-deliver',
        attempts: 5,
        error: 'its worker died at every delivery, and when it was tried alone',
        payload: { eventId: 'of-1-0' },
      });
    });
  });

  describe('with records of vendors', () => {
    const published = async () =>
      (await world.events('AA_CORE_HOT', 'athlete-ally.sleep.>'))
        .filter(({ subject }) => subject !== 'athlete-ally.sleep.raw-received')
        .map((event) => {
          const { record } = event.json<{ record: { date: string; durationMinutes?: number } }>();
          return [event.subject.replace('athlete-ally.sleep.', ''), record.date, record.durationMinutes];
        });
    const publish = async (id: string, revision: number, more: object = {}, state: object = {}) => {
      const record = {
        vendor: 'oura' as const,
        id,
        revision,
        nap: false,
        state: 'scored' as const,
        ...state,
      };
      const capturedAt = '2025-10-03T08:00:00Z';
      await world.publish({ ...night, capturedAt, raw: { source: 'oura' }, record, ...more });
      await world.settled();
    };

    it('publishes both dates of a sleep record whose date has changed', async () => {
      await world.startWorker();
      await publish('moving', 1);
      await publish('moving', 2, { date: '2025-10-03' });
      expect(await nights()).toEqual([expect.objectContaining({ date: '2025-10-03' })]);
      expect(await published()).toEqual([
        ['normalized-stored', '2025-10-02', 420],
        ['removed', '2025-10-02', undefined],
        ['normalized-stored', '2025-10-03', 420],
      ]);
    });

    it('derives a night from a vendor’s longest record, and from the client’s if all records of the vendor are deleted', async () => {
      await world.startWorker();
      await world.publish({ ...night, durationMinutes: 600 });
      await world.settled();
      await publish('short', 1, { durationMinutes: 300 });
      await publish('nap', 1, { durationMinutes: 700 }, { nap: true });
      await publish('waiting', 1, { durationMinutes: 700 }, { state: 'pending' });
      await publish('long', 1);
      await publish('long', Number.MAX_SAFE_INTEGER, { durationMinutes: 0 }, { state: 'deleted' });
      // An older revision comes late: the record stays deleted.
      await publish('long', 5);
      await publish('short', Number.MAX_SAFE_INTEGER, { durationMinutes: 0 }, { state: 'deleted' });
      expect(await published()).toEqual([
        ['normalized-stored', '2025-10-02', 600],
        ['normalized-stored', '2025-10-02', 300],
        ['normalized-stored', '2025-10-02', 420],
        ['normalized-stored', '2025-10-02', 300],
        ['normalized-stored', '2025-10-02', 600],
      ]);
    });
  });

  it('publishes no removal of a night that never existed', async () => {
    await world.startWorker();
    await world.publish(night);
    await world.settled();
    expect(await world.events('AA_CORE_HOT', REMOVED)).toEqual([]);
  });
});

/** Makes the database refuse sessions of `userId`, by default with an error that is not retryable. */
async function refuse(world: SleepWorld, userId: string, state = '22000'): Promise<void> {
  await world.rows(`
    create or replace function refuse() returns trigger language plpgsql as $$
    begin
      if new.user_id = '${userId}' then raise exception 'poisoned' using errcode = '${state}'; end if;
      return new;
    end $$`);
  await world.rows(
    'create trigger refused before insert on sleep_session for each row execute function refuse()',
  );
}

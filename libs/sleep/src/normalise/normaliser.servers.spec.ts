import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { NotFound } from '#platform';
import { Proxy } from '../../../../test/harness/proxy.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { SleepWorld } from '../../../../test/harness/sleep-world.js';

const STORED = 'athlete-ally.sleep.normalized-stored';
const REMOVED = 'athlete-ally.sleep.removed';
const night = { userId: 'user-456', date: '2025-10-02', durationMinutes: 420 };

describe('the sleep pipeline', () => {
  let world: SleepWorld;
  beforeAll(async () => {
    world = await SleepWorld.start();
  });
  afterAll(() => world.stop());
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

  it('stores the night, tells of it under an id made from the event and lets the message go', async () => {
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

  it('leaves the score out where there is none and calls other vendors unknown', async () => {
    await world.startWorker();
    await world.publish({ ...night, capturedAt: '2025-10-02T08:30:00.5Z', raw: { source: 'garmin' } });
    await world.settled();
    expect(await stored()).toEqual([
      { record: { ...night, vendor: 'unknown', capturedAt: '2025-10-02T08:30:00.500Z' } },
    ]);
  });

  it('takes the time of the stream where the event has none', async () => {
    await world.startWorker();
    await world.publish(night);
    await world.settled();
    const [raw] = await world.events('AA_CORE_HOT', 'athlete-ally.sleep.raw-received');
    const [row] = await world.rows<{ captured_at: Date }>('select captured_at from sleep_data');
    expect(row?.captured_at.getTime()).toBe(raw?.time.getTime());
  });

  it('never lets an older word overwrite a newer one, and tells of the newer last', async () => {
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

  it('stores the newer word also where it comes under the same event id', async () => {
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

  it('keeps what JSON allows and Postgres refuses', async () => {
    await world.startWorker();
    await world.publish({ ...night, raw: { note: 'a\u0000b\ud800"\\{}', big: 1e300 } });
    await world.settled();
    expect(await nights()).toHaveLength(1);
  });

  it('continues the trace of whoever published, also where it is not traced itself', async () => {
    await world.startWorker();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const { headers } = await import('@nats-io/transport-node');
    const { jetstream } = await import('@nats-io/jetstream');
    const carried = headers();
    carried.set('traceparent', traceparent);
    await jetstream(world.connection).publish(
      'athlete-ally.sleep.raw-received',
      JSON.stringify({ eventId: 'traced', payload: night }),
      { headers: carried },
    );
    await world.settled();
    const [event] = await world.events('AA_CORE_HOT', STORED);
    expect(event?.header.get('traceparent')).toBe(traceparent);
  });

  it('scenario 4, schema validation failure at the normalize layer: a dead letter with the bytes, and never again', async () => {
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

  it('does not take a message of a stream that was made anew for one of before', async () => {
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

  it('handles a dead letter once where two operators do so at the same time', async () => {
    await world.startWorker();
    await world.publishText('one');
    const { seq } = await eventually('a dead letter', async () => (await letters())[0]);
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => world.letters.discard(seq)));
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(NotFound);
    expect(await letters()).toEqual([]);
  });

  it('sets a poisoned message aside and stores the 999 around it', async () => {
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

  it('goes on where it was when NATS is killed and comes back', async () => {
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

  it('shares the durable between workers', async () => {
    await Promise.all([world.startWorker(), world.startWorker(), world.startWorker()]);
    for (let n = 0; n < 300; n += 1) await world.publish({ ...night, userId: `user-${n}` });
    await world.settled();
    expect(await nights()).toHaveLength(300);
    expect(await stored()).toHaveLength(300);
  });

  describe('while Postgres is away', () => {
    let proxy: Proxy;
    beforeEach(async () => {
      proxy = await Proxy.before(world.databaseOf.url);
      await world.startWorker({ databaseUrl: proxy.url });
    });
    afterEach(async () => {
      proxy.heal();
      await world.stopWorkers();
      await proxy.close();
    });

    it('scenario 3, database connection failure: an outage of a second is a retry and no dead letter', async () => {
      proxy.cut();
      for (let n = 0; n < 50; n += 1) await world.publish({ ...night, userId: `user-${n}` });
      await eventually('a first attempt', async () => {
        const { delivered, num_ack_pending } = await world.manager.consumers.info(
          'AA_CORE_HOT',
          'normalize-sleep-durable',
        );
        return delivered.consumer_seq >= 50 && num_ack_pending === 50;
      });
      proxy.heal();
      await world.settled(90_000);
      expect(await nights()).toHaveLength(50);
      expect(await stored()).toHaveLength(50);
      expect(await letters()).toEqual([]);
    });

    it('an outage of more than five deliveries makes dead letters of all, and replaying heals all', async () => {
      proxy.cut();
      const ids = Array.from({ length: 20 }, (_, n) => `long-${n}`);
      for (const [n, id] of ids.entries()) await world.publish({ ...night, userId: `user-${n}` }, id);
      await eventually('all in the DLQ', async () => (await letters()).length === 20, 90_000);
      const dead = await letters();
      expect(dead.map(({ subject, attempts }) => [subject, attempts])).toEqual(
        dead.map(() => ['dlq.normalize.sleep.raw-received.max-deliver', 5]),
      );
      proxy.heal();
      for (const { seq } of dead) await world.letters.replay(seq);
      await world.settled(90_000);
      const rows = (await nights()) as Array<{ event_id: string }>;
      expect(rows.map(({ event_id }) => event_id).sort()).toEqual([...ids].sort());
      expect(await stored()).toHaveLength(20);
      expect(await letters()).toEqual([]);
    });
  });

  it('buries what killed its worker at every delivery, by the advisory of the server', async () => {
    await world.startWorker();
    await world.publish(night);
    await world.settled();
    await world.stopWorkers();
    const consumer = await (
      await import('@nats-io/jetstream')
    )
      .jetstream(world.connection)
      .consumers.get('AA_CORE_HOT', 'normalize-sleep-durable');
    const eventId = await world.publish({ ...night, userId: 'deadly' });
    // As a worker that dies: takes it, and gives it back without a word each time.
    for (let delivery = 1; delivery <= 5; delivery += 1) {
      const message = await consumer.next({ expires: 5_000 });
      expect(message?.info.deliveryCount).toBe(delivery);
      message?.nak();
    }
    // The advisory goes out when somebody would have got it for the sixth time.
    expect(await consumer.next({ expires: 1_000 })).toBeNull();
    await world.startWorker();
    const dead = await eventually('a dead letter', async () => (await letters())[0]);
    expect(dead).toMatchObject({
      subject: 'dlq.normalize.sleep.raw-received.max-deliver',
      attempts: 5,
      payload: { eventId },
    });
  });

  describe('with records of vendors', () => {
    const told = async () =>
      (await world.events('AA_CORE_HOT', 'athlete-ally.sleep.>'))
        .filter(({ subject }) => subject !== 'athlete-ally.sleep.raw-received')
        .map((event) => {
          const { record } = event.json<{ record: { date: string; durationMinutes?: number } }>();
          return [event.subject.replace('athlete-ally.sleep.', ''), record.date, record.durationMinutes];
        });
    const say = async (id: string, revision: number, more: object = {}, state: object = {}) => {
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

    it('tells both dates of a night that has moved', async () => {
      await world.startWorker();
      await say('moving', 1);
      await say('moving', 2, { date: '2025-10-03' });
      expect(await nights()).toEqual([expect.objectContaining({ date: '2025-10-03' })]);
      expect(await told()).toEqual([
        ['normalized-stored', '2025-10-02', 420],
        ['removed', '2025-10-02', undefined],
        ['normalized-stored', '2025-10-03', 420],
      ]);
    });

    it('prefers them to what a client says, the longer to the shorter, and falls back when they go', async () => {
      await world.startWorker();
      await world.publish({ ...night, durationMinutes: 600 });
      await world.settled();
      await say('short', 1, { durationMinutes: 300 });
      await say('nap', 1, { durationMinutes: 700 }, { nap: true });
      await say('waiting', 1, { durationMinutes: 700 }, { state: 'pending' });
      await say('long', 1);
      await say('long', Number.MAX_SAFE_INTEGER, { durationMinutes: 0 }, { state: 'deleted' });
      // An older revision comes late: what is gone stays so.
      await say('long', 5);
      await say('short', Number.MAX_SAFE_INTEGER, { durationMinutes: 0 }, { state: 'deleted' });
      expect(await told()).toEqual([
        ['normalized-stored', '2025-10-02', 600],
        ['normalized-stored', '2025-10-02', 300],
        ['normalized-stored', '2025-10-02', 420],
        ['normalized-stored', '2025-10-02', 300],
        ['normalized-stored', '2025-10-02', 600],
      ]);
    });
  });

  it('tells nothing of removed nights that never were', async () => {
    await world.startWorker();
    await world.publish(night);
    await world.settled();
    expect(await world.events('AA_CORE_HOT', REMOVED)).toEqual([]);
  });
});

/** The database itself refuses that user, with an error that no second attempt helps against. */
async function refuse(world: SleepWorld, userId: string): Promise<void> {
  await world.rows(`
    create or replace function refuse() returns trigger language plpgsql as $$
    begin
      if new.user_id = '${userId}' then raise exception 'poisoned' using errcode = '22000'; end if;
      return new;
    end $$`);
  await world.rows(
    'create trigger refused before insert on sleep_session for each row execute function refuse()',
  );
}

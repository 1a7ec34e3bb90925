import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type JsMsg } from '@nats-io/jetstream';
import fc from 'fast-check';
import { EventBus } from '../../../platform/src/nats/event-bus.js';
import { decode } from '../../../platform/src/nats/subject.js';
import { type SleepRawReceived, sleepRawReceived } from '../contract/sleep-raw-received.js';
import { MODEL_TIMEOUT_MS, modelRuns } from '../../../../test/harness/model-runs.js';
import { silent, SleepWorld } from '../../../../test/harness/sleep-world.js';
import { Normaliser } from './normaliser.js';
import { SleepStore } from './sleep-store.js';

const DATES = ['2025-10-01', '2025-10-02', '2025-10-03'] as const;

/** The events of vendors and clients about one person. */
const history = fc
  .array(
    fc.record({
      source: fc.constantFrom('ingest' as const, 'oura' as const, 'whoop' as const),
      record: fc.constantFrom('a', 'b'),
      date: fc.constantFrom(...DATES),
      revision: fc.integer({ min: 1, max: 4 }),
      minute: fc.integer({ min: 0, max: 3 }),
      durationMinutes: fc.constantFrom(60, 420, 480),
      nap: fc.boolean(),
      state: fc.constantFrom('scored' as const, 'scored' as const, 'pending' as const, 'deleted' as const),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((events) =>
    events.map(({ source, record, date, revision, minute, durationMinutes, nap, state }, index) => ({
      eventId: `event-${index}`,
      payload: {
        userId: 'one',
        date,
        durationMinutes,
        capturedAt: `2025-10-04T00:0${minute}:00Z`,
        ...(source !== 'ingest' && { record: { vendor: source, id: record, revision, nap, state } }),
      },
    })),
  );

/** Every event at least once and some of them again, in any order and any batches. */
const deliveriesOf = (events: readonly SleepRawReceived[]) =>
  fc
    .tuple(
      fc.shuffledSubarray([...events], { minLength: events.length }),
      fc.array(fc.constantFrom(...events), { maxLength: 6 }),
    )
    .chain(([all, again]) =>
      fc.shuffledSubarray([...all, ...again], { minLength: all.length + again.length }),
    )
    .chain((order) =>
      fc
        .array(fc.integer({ min: 1, max: 5 }), { minLength: order.length, maxLength: order.length })
        .map((sizes) => batches(order, sizes)),
    );

describe('a history of sleep records', () => {
  let world: SleepWorld;
  beforeAll(async () => {
    world = await SleepWorld.start();
  });
  afterAll(() => world?.stop());

  it(
    'sleep events lead to the same rows and last messages in any order and batches, with repeats and many workers (model)',
    async () => {
      const arrangements = history.chain((events) =>
        fc.record({
          plain: fc.constant(events.map((event) => [event])),
          mixed: deliveriesOf(events),
          workers: fc.constantFrom(1, 2, 3),
        }),
      );
      await fc.assert(
        fc.asyncProperty(arrangements, async ({ plain, mixed, workers }) => {
          const expected = await outcome(plain, 1);
          const actual = await outcome(mixed, workers);
          expect(actual.nights).toEqual(expected.nights);
          for (const { nights, messages } of [expected, actual])
            for (const date of DATES) expectLastMessage(messages.get(date), nights.get(date));
        }),
        modelRuns(60),
      );
    },
    MODEL_TIMEOUT_MS,
  );

  async function outcome(order: SleepRawReceived[][], workers: number) {
    await world.rows('truncate sleep_session, sleep_data');
    await world.manager.streams.purge('AA_CORE_HOT');
    // The ids of the previous run are still within the stream's duplicate window.
    run += 1;
    const bus = new EventBus(world.connection);
    const prefixed: Pick<EventBus, 'publish' | 'stored'> = {
      publish: (subject, payload, id) => bus.publish(subject, payload, `${run}:${id}`),
      stored: (subject, ack) => bus.stored(subject, ack),
    };
    const waiting = [...order];
    const work = async () => {
      const normaliser = new Normaliser(
        new SleepStore(world.database),
        prefixed as EventBus,
        world.letters,
        silent,
      );
      for (let batch = waiting.shift(); batch; batch = waiting.shift())
        await normaliser.handle(batch.map(delivered));
    };
    await Promise.all(Array.from({ length: workers }, work));
    return { nights: await nightsByDate(), messages: await lastMessages() };
  }

  let run = 0;

  async function nightsByDate() {
    const rows = await world.rows<{ date: string }>(
      'select date::text, duration_minutes, vendor, event_id, captured_at from sleep_data',
    );
    return new Map(rows.map((row) => [row.date, row]));
  }

  async function lastMessages() {
    const messages = new Map<string, { subject: string; durationMinutes?: number }>();
    for (const event of await world.events('AA_CORE_HOT', 'athlete-ally.sleep.>')) {
      const { record } = event.json<{ record: { date: string; durationMinutes?: number } }>();
      messages.set(record.date, { subject: event.subject, durationMinutes: record.durationMinutes });
    }
    return messages;
  }
});

function expectLastMessage(
  message: { subject: string; durationMinutes?: number } | undefined,
  night: object | undefined,
) {
  if (night) {
    const { duration_minutes: durationMinutes } = night as { duration_minutes: number };
    expect(message).toEqual({ subject: 'athlete-ally.sleep.normalized-stored', durationMinutes });
  } else if (message) expect(message.subject).toBe('athlete-ally.sleep.removed');
}

function batches<T>(order: readonly T[], sizes: readonly number[]): T[][] {
  const rest = [...order];
  const all: T[][] = [];
  for (const size of sizes) if (rest.length > 0) all.push(rest.splice(0, size));
  return all;
}

/** A message as the stream delivers it the first time. */
function delivered(event: SleepRawReceived) {
  const text = JSON.stringify(event);
  const message = {
    data: new TextEncoder().encode(text),
    redelivered: false,
    info: { deliveryCount: 1, streamSequence: 1, deliverySequence: 1, timestampNanos: 1.76e18 },
    ack: () => undefined,
    nak: () => expect('the delivery').toBe('stored'),
    term: () => expect('the delivery').toBe('stored'),
  };
  return { message: message as unknown as JsMsg, content: decode(sleepRawReceived, text) };
}

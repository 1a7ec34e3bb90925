import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type JsMsg } from '@nats-io/jetstream';
import { eventually } from '../../../../test/harness/eventually.js';
import { silent, SleepWorld } from '../../../../test/harness/sleep-world.js';
import { type Database, type Sql } from '../../../platform/src/database/database.js';
import { EventBus } from '../../../platform/src/nats/event-bus.js';
import { decode } from '../../../platform/src/nats/subject.js';
import { type SleepRawReceived, sleepRawReceived } from '../contract/sleep-raw-received.js';
import { Normaliser } from './normaliser.js';
import { SleepStore } from './sleep-store.js';

const night = { userId: 'one', date: '2025-10-02' };
const older = {
  eventId: 'older',
  payload: { ...night, durationMinutes: 400, capturedAt: '2025-10-02T08:00:00Z' },
};
const newer = {
  eventId: 'newer',
  payload: { ...night, durationMinutes: 410, capturedAt: '2025-10-02T09:00:00Z' },
};

describe('two workers at the same night', () => {
  let world: SleepWorld;
  let bus: EventBus;
  beforeAll(async () => {
    world = await SleepWorld.start();
    bus = new EventBus(world.connection);
  });
  afterAll(() => world.stop());
  beforeEach(async () => {
    await world.rows('truncate sleep_session, sleep_data');
    // Made anew, so that it does not take the ids of the test before for duplicates.
    const { config } = await world.manager.streams.info('AA_CORE_HOT');
    await world.manager.streams.delete('AA_CORE_HOT');
    await world.manager.streams.add(config);
  });

  const normaliser = (through: EventBus = bus, database: Database = world.database) =>
    new Normaliser(new SleepStore(database), through, world.letters, silent);
  const words = async () =>
    (await world.events('AA_CORE_HOT', 'athlete-ally.sleep.>')).map(
      (event) => event.json<{ record: { durationMinutes?: number } }>().record.durationMinutes,
    );

  it('leaves the newer one the last word, though the older one is told after it', async () => {
    const late = interrupted(() => normaliser().handle([delivered(newer)]));
    await normaliser(late).handle([delivered(older)]);
    expect((await words()).at(-1)).toBe(410);
  });

  it('leaves it the last word also where the worker that told late dies of it', async () => {
    const late = interrupted(() => normaliser().handle([delivered(newer)]));
    const dying: Pick<EventBus, 'publish'> = {
      publish: async (...event) => {
        await late.publish(...event);
        throw new Error('connection lost: this worker is no more');
      },
    };
    await normaliser(dying as EventBus).handle([delivered(older)]);
    expect((await words()).at(-1)).toBe(400);
    await normaliser().handle([delivered(older, { redelivered: true })]);
    expect((await words()).at(-1)).toBe(410);
  });

  it('weighs both of two records of one date that are stored at the same time', async () => {
    const record = (id: string, durationMinutes: number) => ({
      eventId: id,
      payload: {
        ...night,
        durationMinutes,
        capturedAt: '2025-10-02T08:00:00Z',
        record: { vendor: 'oura' as const, id, revision: 1, nap: false, state: 'scored' as const },
      },
    });
    let shorter: Promise<void> | undefined;
    // It has weighed and not committed when the other one comes.
    const slow = beforeCommit(world.database, async () => {
      shorter = normaliser().handle([delivered(record('shorter', 300))]);
      await eventually('the other one waits for it', async () => {
        const waiting = 'select 1 from pg_locks where not granted';
        return (await world.rows(waiting)).length > 0;
      });
    });
    await normaliser(bus, slow).handle([delivered(record('longer', 480))]);
    await shorter;
    expect(await world.rows('select event_id, duration_minutes from sleep_data')).toEqual([
      { event_id: 'longer', duration_minutes: 480 },
    ]);
    expect((await words()).at(-1)).toBe(480);
  });

  /** Before it publishes for the first time, the other one does all of its work. */
  function interrupted(other: () => Promise<void>): EventBus {
    let isFirst = true;
    const through: Pick<EventBus, 'publish'> = {
      publish: async (...event) => {
        if (isFirst) {
          isFirst = false;
          await other();
        }
        return bus.publish(...event);
      },
    };
    return through as EventBus;
  }
});

function beforeCommit(database: Database, hook: () => Promise<void>): Database {
  const slow: Pick<Database, 'query' | 'transaction'> = {
    query: (...statement) => database.query(...statement),
    transaction: <T>(work: (sql: Sql) => Promise<T>) =>
      database.transaction(async (sql) => {
        const result = await work(sql);
        await hook();
        return result;
      }),
  };
  return slow as Database;
}

function delivered(event: SleepRawReceived, { redelivered = false } = {}) {
  const text = JSON.stringify(event);
  const message = {
    data: new TextEncoder().encode(text),
    redelivered,
    info: {
      deliveryCount: redelivered ? 2 : 1,
      streamSequence: 1,
      deliverySequence: 1,
      timestampNanos: 1.76e18,
    },
    ack: () => undefined,
    nak: () => undefined,
    term: () => undefined,
  };
  return { message: message as unknown as JsMsg, content: decode(sleepRawReceived, text) };
}

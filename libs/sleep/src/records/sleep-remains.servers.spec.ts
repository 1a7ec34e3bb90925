import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jetstream, type StoredMsg } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { register } from 'prom-client';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { PostgresServer } from '../../../../test/harness/postgres-server.js';
import { canShiftClocks } from '../../../../test/harness/shifted-clock.js';
import { SleepWorld } from '../../../../test/harness/sleep-world.js';
import { createLogger, DependencyUnavailable, EventBus, type Sweeps } from '#platform';
import { sleepRawReceived } from '../contract/sleep-raw-received.js';
import { Erasures } from './erasures.js';
import { SleepStore } from '../normalise/sleep-store.js';
import { IngestedSleepRecords, sleepRecordsOf } from './sleep-records.js';
import { SleepRemains } from './sleep-remains.js';
import { UnpublishedNights } from './unpublished-nights.js';

const DATE = '2025-10-02';
const DAY_MS = 86_400_000;
const DLQ_DAYS = 30;
const DLQ = 'dlq.normalize.sleep.raw-received';

const OuraSleepRecords = sleepRecordsOf('oura');

describe('messages in NATS of people who have been deleted', () => {
  let world: SleepWorld;
  let remains: SleepRemains;
  let leaver: string;
  let other: string;
  beforeAll(async () => {
    world = await SleepWorld.start({ dlqRetentionDays: DLQ_DAYS });
    const bus = new EventBus(world.connection);
    const unpublished = new UnpublishedNights(
      world.database,
      {} as Sweeps,
      new SleepStore(world.database),
      bus,
    );
    remains = new SleepRemains(world.connection, world.database, unpublished);
  });
  afterAll(() => world?.stop());
  beforeEach(async () => {
    for (const stream of ['AA_CORE_HOT', 'AA_DLQ']) await world.manager.streams.purge(stream);
    leaver = await newAthlete(world.database);
    other = await newAthlete(world.database);
    await world.startWorker();
  });
  afterEach(() => world.stopWorkers());

  const night = (userId: string, more: object = {}) => ({
    userId,
    date: DATE,
    durationMinutes: 420,
    ...more,
  });
  const ofOura = (userId: string, date = DATE) =>
    night(userId, {
      date,
      raw: { source: 'oura' },
      record: { vendor: 'oura', id: randomUUID(), revision: 1, nap: false, state: 'scored' },
    });
  const vendorEvent = (userId: string) =>
    jetstream(world.connection).publish(
      'athlete-ally.sleep.vendor-event.oura',
      JSON.stringify({
        vendor: 'oura',
        userId,
        objectId: 'sleep-1',
        about: 'sleep',
        isDeleted: false,
        at: new Date().toISOString(),
      }),
    );
  const bury = (text: string, reason = 'max-deliver', receivedAt = new Date()) =>
    world.letters.add(
      DLQ,
      {
        stream: 'AA_CORE_HOT',
        durable: randomUUID(),
        seq: 1,
        subject: sleepRawReceived.name,
        bytes: Buffer.from(text),
        headers: undefined,
        receivedAt,
      },
      { reason, error: 'a test', attempts: 5 },
    );
  const rawOf = (payload: object) => JSON.stringify({ eventId: randomUUID(), payload });

  /** Deletes rows as `Deletions` does. */
  const leave = async (provider: string | null, isGone = provider === null) => {
    const records = [
      ...(provider === null ? [new IngestedSleepRecords(world.database)] : []),
      new OuraSleepRecords(world.database),
    ];
    for (const each of records) await world.database.transaction((sql) => each.deleteSome(sql, leaver));
    if (isGone) await world.rows('delete from athlete where id = $1', [leaver]);
    return {
      athlete_id: leaver,
      subject: leaver,
      provider,
      accounts: { oura: `oura-${leaver}` },
      rows_deleted_at: await world.database.now(),
    };
  };
  const erase = async (departure: Awaited<ReturnType<typeof leave>>) => {
    let counted = 0;
    await remains.erase([departure], (_, deleted) => Promise.resolve(void (counted += deleted)));
    return counted;
  };
  const mentioning = async (text: string) => {
    const all: StoredMsg[] = [
      ...(await world.events('AA_CORE_HOT', 'athlete-ally.>')),
      ...(await world.events('AA_DLQ', 'dlq.>')),
    ];
    return all
      .filter((message) => `${message.string()} ${JSON.stringify([...message.header])}`.includes(text))
      .map(({ subject }) => subject.replace('athlete-ally.sleep.', ''));
  };
  const rowsOf = (user: string) => world.rows('select 1 from sleep_session where user_id = $1', [user]);

  it('erases nights, events and dead letters of deleted people, publishes removed, and keeps other people’s messages', async () => {
    for (const user of [leaver, other]) {
      await world.publish(night(user));
      await world.publish(ofOura(user, '2025-10-03'));
      await vendorEvent(`oura-${user}`);
      await bury(rawOf(night(user)));
      await bury(rawOf({ userId: user, date: 'never' }), 'schema-invalid');
      await bury(`{"eventId": "broken", "payload": {"userId": "${user}"`, 'schema-invalid');
    }
    await world.settled();
    const ofOther = await mentioning(other);
    expect(await mentioning(leaver)).toHaveLength(ofOther.length);
    expect(await erase(await leave(null))).toBe(ofOther.length);
    expect(await mentioning(leaver)).toEqual(['removed', 'removed']);
    expect(await mentioning(other)).toEqual(ofOther);
  });

  it('erases a vendor’s messages after a disconnection, and keeps nights of a client that names the same vendor', async () => {
    await world.publish(night(leaver, { date: '2025-10-01', raw: { source: 'oura' } }));
    await world.publish(ofOura(leaver));
    await vendorEvent(`oura-${leaver}`);
    await bury(rawOf(ofOura(leaver)));
    await bury(rawOf(night(leaver)));
    await world.settled();
    expect(await erase(await leave('oura'))).toBe(4);
    expect((await mentioning(leaver)).sort()).toEqual(
      [`${DLQ}.max-deliver`, 'normalized-stored', 'raw-received', 'removed'].sort(),
    );
  });

  it('erases messages in which the UUID of a person is written in upper case', async () => {
    const loud = leaver.toUpperCase();
    await world.publish(night(loud));
    await bury(rawOf(night(loud)));
    await bury(`{"eventId": "broken", "payload": {"userId": "${loud}"`, 'schema-invalid');
    await world.settled();
    await erase(await leave(null));
    expect(await mentioning(loud)).toEqual([]);
    expect(await mentioning(leaver)).toEqual(['removed']);
  });

  it('the erasure of messages in NATS keeps messages that came in after the rows were deleted', async () => {
    await world.publish(night(leaver));
    await world.settled();
    const departure = await leave(null, false);
    expect(await erase(departure)).toBe(2);
    await world.publish(night(leaver, { date: '2025-10-05' }));
    await world.settled();
    expect(await erase(departure)).toBe(0);
    expect(await mentioning(leaver)).toEqual(['removed', 'raw-received', 'normalized-stored']);
  });

  it('the erasure of messages rejects while NATS is away, and succeeds afterwards', async () => {
    await world.publish(night(leaver));
    await world.settled();
    const departure = await leave(null);
    await world.nats.kill();
    await expect(erase(departure)).rejects.toBeInstanceOf(DependencyUnavailable);
    await world.nats.start();
    await eventually('a pass that succeeds', () => erase(departure).then(() => true), 60_000);
    // A killed server may have lost an acknowledgement, and the `removed` message is then published twice.
    expect(new Set(await mentioning(leaver))).toEqual(new Set(['removed']));
  }, 120_000);

  describe('an event from before a deletion that arrives after the deletion', () => {
    const config = { nats: { urls: [], replicas: 1, dlqRetentionDays: DLQ_DAYS } };
    const forget = () => new Erasures(world.database, {} as Sweeps, config).runOnce();
    const age = (days: number) =>
      world.rows(
        `update sleep_erasure
         set erased_at = erased_at - $2 * interval '1 day', received_until = received_until - $2 * interval '1 day'
         where user_id = $1`,
        [leaver, days],
      );
    const daysAgo = async (days: number) => new Date((await world.natsNow()).getTime() - days * DAY_MS);
    const back = () =>
      world.rows("insert into athlete (id, issuer, subject) values ($1, 'test', $2)", [leaver, leaver]);

    it.each([
      ['the stream', 6],
      ['dead letters that were kept for 30 days', 37],
    ])('stores no night that was received before a deletion and had waited in %s', async (_, days) => {
      await erase(await leave(null));
      // The person is back, so only the time of the deletion distinguishes an old night from a new one.
      await back();
      await age(days);
      await forget();
      const { seq } = await letterOf(days + 0.5);
      await world.letters.replay(seq);
      await world.settled();
      expect(await rowsOf(leaver)).toEqual([]);
      expect(await mentioning(DATE)).toEqual(['raw-received']);
    });

    const letterOf = async (days: number) => {
      await bury(rawOf(night(leaver)), 'max-deliver', await daysAgo(days));
      const { items } = await world.letters.list(0, 1);
      return items[0] as { seq: number };
    };

    it('dead-letters a raw night that is older than the kept erasures, also after each replay', async () => {
      await erase(await leave(null));
      await back();
      await age(60);
      await forget();
      expect(await world.rows('select 1 from sleep_erasure where user_id = $1', [leaver])).toEqual([]);
      for (let time = 1; time <= 2; time += 1) {
        const { seq } = time === 1 ? await letterOf(61) : (await world.letters.list(0, 1)).items[0]!;
        await world.letters.replay(seq);
        await eventually(
          'it is a dead letter again',
          async () => (await world.letters.list(seq, 1)).items.length === 1,
        );
      }
      expect(await rowsOf(leaver)).toEqual([]);
      expect((await world.letters.list(0, 1)).items[0]).toMatchObject({
        reason: 'non-retryable',
        error: expect.stringContaining('deletions of that time are forgotten'),
      });
    });

    it('stores a night received a week ago for people who have not been deleted', async () => {
      const all = headers();
      all.set('received-at', (await daysAgo(7)).toISOString());
      await jetstream(world.connection).publish(sleepRawReceived.name, rawOf(night(other)), { headers: all });
      await world.settled();
      expect(await rowsOf(other)).toHaveLength(1);
    });

    it('refuses nights that an app sends again after the deletion of its athlete, until the athlete is back', async () => {
      await world.publish(night(leaver));
      await world.settled();
      await erase(await leave(null));
      await world.publish(night(leaver));
      await world.settled();
      expect(await rowsOf(leaver)).toEqual([]);
      await back();
      await world.publish(night(leaver));
      await world.settled();
      expect(await rowsOf(leaver)).toHaveLength(1);
    });

    it('stores no night of a person whose messages are not erased yet, because only NATS knows when it came', async () => {
      const departure = await leave(null);
      await back();
      await world.publish(night(leaver));
      await world.settled();
      expect(await rowsOf(leaver)).toEqual([]);
      await erase(departure);
      await world.publish(night(leaver));
      await world.settled();
      expect(await rowsOf(leaver)).toHaveLength(1);
    });

    it('counts the nights that it refuses by their source, and logs at most a line for each batch, without the person', async () => {
      await world.stopWorkers();
      await erase(await leave(null));
      const refused = async (source: string) => {
        const text = await register.getSingleMetricAsString('sleep_refused_nights_total');
        return Number(new RegExp(`{source="${source}",reason="erased"} (\\d+)`).exec(text)?.[1]);
      };
      const before = { ingest: await refused('ingest'), oura: await refused('oura') };
      for (const date of ['2025-10-01', '2025-10-02', '2025-10-03'])
        await world.publish(night(leaver, { date }));
      await world.publish(ofOura(leaver));
      await world.publish(night(other));
      const lines: Array<Record<string, unknown>> = [];
      const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) };
      await world.startWorker({ logger: createLogger({ level: 'info', process: 'test', destination }) });
      await world.settled();
      expect([(await refused('ingest')) - before.ingest, (await refused('oura')) - before.oura]).toEqual([
        3, 1,
      ]);
      const counts = lines.flatMap(({ erased }) => (erased as Array<{ count: number }> | undefined) ?? []);
      expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(4);
      expect(JSON.stringify(lines)).not.toContain(leaver);
      expect(await rowsOf(other)).toHaveLength(1);
    });

    it('a second erasure that begins before an earlier one has ended stays open, because NATS was asked before the second one began', async () => {
      await world.publish(night(leaver));
      await world.settled();
      await world.stopWorkers();
      const departure = await leave(null, false);
      const { first } = await world.database.transaction(async (sql) => {
        await sql.query('select from sleep_erasure where user_id = $1 for update', [leaver]);
        const erasing = erase(departure);
        await eventually('NATS was asked, and the end of the erasure waits for the row', async () => {
          const { count } = await world.database.query(
            `select from pg_stat_activity
             where datname = current_database() and wait_event_type = 'Lock' and query like '%update sleep_erasure%'`,
          );
          return count > 0;
        });
        // The stream gets this night after the question to NATS and before the second deletion.
        await world.publish(night(leaver, { date: '2025-10-05' }));
        await new IngestedSleepRecords(world.database).deleteSome(sql, leaver);
        return { first: erasing };
      });
      await first;
      const open = () =>
        world.rows("select 1 from sleep_erasure where user_id = $1 and received_until = 'infinity'", [
          leaver,
        ]);
      expect(await open()).toHaveLength(1);
      await world.startWorker();
      await world.publish(night(leaver, { date: '2025-10-06' }));
      await world.settled();
      expect(await rowsOf(leaver)).toEqual([]);
      await erase(departure);
      expect(await open()).toEqual([]);
      await world.publish(night(leaver, { date: '2025-10-07' }));
      await world.settled();
      expect(await rowsOf(leaver)).toHaveLength(1);
    });

    it('stores nights of an athlete who is back under another id, for example after an issuer was configured', async () => {
      await erase(await leave(null));
      await world.rows("insert into athlete (id, issuer, subject) values ($1, 'configured since', $2)", [
        randomUUID(),
        leaver,
      ]);
      await world.publish(night(leaver));
      await world.settled();
      expect(await rowsOf(leaver)).toHaveLength(1);
    });
  });
});

// A virtual machine that was paused, or a fail-over, may leave such a difference.
describe.each([
  ['10 min ahead of', 600_000],
  ['10 min behind', -600_000],
])('the clock of Postgres is %s that of NATS', (_, aheadMs) => {
  let postgres: PostgresServer | undefined;
  let world: SleepWorld;
  beforeAll(async () => {
    if (!canShiftClocks()) return;
    postgres = await PostgresServer.startAhead(aheadMs);
    world = await SleepWorld.start({ databaseUrl: postgres.url });
  });
  afterAll(async () => {
    await world?.stop();
    await postgres?.stop();
  });

  (canShiftClocks() ? it : it.skip)(
    'a night sent before a deletion stays deleted, and one sent after it is stored',
    async () => {
      const athlete = await newAthlete(world.database);
      const send = async (date: string, receivedAt?: Date) => {
        const all = headers();
        if (receivedAt) all.set('received-at', receivedAt.toISOString());
        const payload = { userId: athlete, date, durationMinutes: 420 };
        const text = JSON.stringify({ eventId: randomUUID(), payload });
        await jetstream(world.connection).publish(sleepRawReceived.name, text, { headers: all });
      };
      await send('2025-10-01');
      const before = await world.natsNow();
      const records = new IngestedSleepRecords(world.database);
      await world.database.transaction((sql) => records.deleteSome(sql, athlete));
      const rows_deleted_at = await world.database.now();
      const bus = new EventBus(world.connection);
      const unpublished = new UnpublishedNights(
        world.database,
        {} as Sweeps,
        new SleepStore(world.database),
        bus,
      );
      const departure = {
        ...{ athlete_id: athlete, subject: athlete, provider: null },
        ...{ accounts: {}, rows_deleted_at },
      };
      const remains = new SleepRemains(world.connection, world.database, unpublished);
      const erase = async () => {
        let counted = 0;
        await remains.erase([departure], (_, deleted) => Promise.resolve(void (counted += deleted)));
        return counted;
      };
      expect(await erase()).toBe(1);
      // As if a worker had still had the first night in hand.
      await send('2025-10-01', before);
      await send('2025-10-02');
      await world.startWorker();
      await world.settled();
      const nights = "select to_char(date, 'YYYY-MM-DD') as date from sleep_session where user_id = $1";
      expect(await world.rows(nights, [athlete])).toEqual([{ date: '2025-10-02' }]);
      expect(await erase()).toBe(1);
      const left = await world.events('AA_CORE_HOT', sleepRawReceived.name);
      expect(left.map((message) => message.json<{ payload: { date: string } }>().payload.date)).toEqual([
        '2025-10-02',
      ]);
    },
    120_000,
  );
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { silent, SleepWorld } from '../../../../test/harness/sleep-world.js';
import { DependencyUnavailable, EventBus, type Sweeps } from '#platform';
import { sleepRawReceived } from '../contract/sleep-raw-received.js';
import { SleepStore } from '../normalise/sleep-store.js';
import { IngestedSleepRecords } from '../records/sleep-records.js';
import { UnpublishedNights } from '../records/unpublished-nights.js';
import { emptySummary, Reread } from './reread.js';

const MAIN = new URL('../../../../dist/libs/sleep/src/reread/reread.main.js', import.meta.url).pathname;
const DAYS = ['2025-10-01', '2025-10-02', '2025-10-03', '2025-10-04'];
const LONG_AGO = new Date(0);

describe('a reread of the stream', () => {
  let world: SleepWorld;
  let athlete: string;
  beforeAll(async () => (world = await SleepWorld.start()));
  afterAll(() => world?.stop());
  beforeEach(async () => {
    await world.rows('truncate sleep_session, sleep_data, sleep_untold, sleep_erasure');
    for (const stream of ['AA_CORE_HOT', 'AA_DLQ']) await world.manager.streams.purge(stream);
    athlete = await newAthlete(world.database);
    await world.startWorker();
  });
  afterEach(() => world.stopWorkers());

  const reread = (oldestMs = Infinity) =>
    new Reread(world.connection, new SleepStore(world.database), silent, oldestMs).run(LONG_AGO);
  const night = (date: string, more: object = {}) => ({
    userId: athlete,
    date,
    durationMinutes: 420,
    capturedAt: `${date}T08:00:00Z`,
    ...more,
  });
  const record = (date: string, more: object = {}) => ({
    ...night(date),
    record: { vendor: 'oura' as const, id: date, revision: 1, nap: false, state: 'scored' as const, ...more },
  });
  const all = async () => ({
    sessions: await world.rows('select * from sleep_session order by user_id, source, record_id'),
    nights: await world.rows('select * from sleep_data order by user_id, date'),
  });
  const published = async () =>
    (await world.events('AA_CORE_HOT', 'athlete-ally.sleep.>')).flatMap(({ subject }) =>
      subject === sleepRawReceived.name ? [] : [subject.replace('athlete-ally.sleep.', '')],
    );
  const publish = () => {
    const store = new SleepStore(world.database);
    return new UnpublishedNights(
      world.database,
      {} as Sweeps,
      store,
      new EventBus(world.connection),
    ).runOnce();
  };

  it('a reread restores all rows that were stored and then lost, and publishes only the restored nights', async () => {
    for (const date of DAYS) await world.publish(night(date));
    await world.publish(record('2025-10-02'));
    await world.publish(record('2025-10-05'));
    await world.publish({ ...record('2025-10-06'), raw: { source: 'oura', qualityScore: 70 } });
    await world.settled();
    const before = await all();
    const publishedBefore = await published();
    // Simulates a fail-over to a standby that was behind.
    await world.rows("delete from sleep_session where date >= '2025-10-03'");
    await world.rows("delete from sleep_data where date >= '2025-10-03'");
    expect(await reread()).toMatchObject({ read: 7, restored: 4, skipped: 0, failed: 0 });
    expect(await all()).toEqual(before);
    await publish();
    expect((await published()).slice(publishedBefore.length)).toEqual(Array(4).fill('normalized-stored'));
    expect(await reread()).toMatchObject({ read: 7, restored: 0 });
    expect(await all()).toEqual(before);
  });

  it('a reread stores events that no consumer got, and publishes the changed nights', async () => {
    await world.publish(record('2025-10-01'));
    await world.settled();
    await world.stopWorkers();
    await world.publish(record('2025-10-02'));
    await world.publish(record('2025-10-01', { revision: 9, state: 'deleted' }));
    expect(await reread()).toMatchObject({ read: 3, restored: 2 });
    await publish();
    expect((await published()).sort()).toEqual(['normalized-stored', 'normalized-stored', 'removed']);
  });

  it('a reread overwrites no newer session, and stores nothing of deleted people', async () => {
    await world.publish(night(DAYS[0]!));
    await world.settled();
    await world.stopWorkers();
    await world.rows(
      `update sleep_session set captured_at = captured_at + interval '1 day', duration_minutes = 500, event_id = 'newer'`,
    );
    await world.rows(`update sleep_data set duration_minutes = 500, event_id = 'newer'`);
    expect(await reread()).toMatchObject({ read: 1, restored: 1 });
    expect(await world.rows('select duration_minutes from sleep_data')).toEqual([{ duration_minutes: 500 }]);

    const records = new IngestedSleepRecords(world.database);
    await world.database.transaction((sql) => records.deleteSome(sql, athlete));
    expect(await reread()).toMatchObject({ read: 1, restored: 0 });
    expect((await all()).sessions).toEqual([]);
  });

  it('a reread reads only events since the given time, and skips malformed events and events older than the kept erasures', async () => {
    await world.publish(night(DAYS[0]!));
    await jetstream(world.connection).publish(sleepRawReceived.name, 'not even JSON');
    await world.settled();
    await world.rows('truncate sleep_session, sleep_data');
    const since = new Date(Date.now() + 60_000);
    const store = new SleepStore(world.database);
    expect(await new Reread(world.connection, store, silent, Infinity).run(since)).toEqual(emptySummary());
    expect(await reread(-1)).toMatchObject({ read: 2, skipped: 2, restored: 0 });
    expect(await reread()).toMatchObject({ read: 2, skipped: 1, restored: 1 });
  });

  it('a reread counts the event that the database refuses, and stores the others', async () => {
    for (const date of DAYS) await world.publish(night(date));
    await world.settled();
    await world.rows('truncate sleep_session, sleep_data');
    await world.rows(
      `alter table sleep_session add constraint refused check (date <> '2025-10-02'::date or user_id <> '${athlete}')`,
    );
    try {
      expect(await reread()).toMatchObject({ read: 4, restored: 3, failed: 1 });
    } finally {
      await world.rows('alter table sleep_session drop constraint refused');
    }
  });

  it('a reread rejects while NATS is away, and succeeds afterwards', async () => {
    await world.publish(night(DAYS[0]!));
    await world.settled();
    await world.stopWorkers();
    await world.nats.kill();
    await expect(reread()).rejects.toBeInstanceOf(DependencyUnavailable);
    await world.nats.start();
    await eventually('a run that succeeds', async () => (await reread()).read === 1, 60_000);
  }, 120_000);

  describe('npm run reread', () => {
    const FROM = '2025-01-01T00:00:00Z';
    const OUT = '4 events read since 2025-01-01T00:00:00.000Z, 4 nights restored\n';

    async function run(args: readonly string[], more: object = {}) {
      const env = { PATH: process.env.PATH, DATABASE_URL: world.testDatabase.url, NATS_URL: world.nats.url };
      try {
        const ended = promisify(execFile)(process.execPath, [MAIN, ...args], {
          env: { ...env, ...more },
          timeout: 120_000,
        });
        return { code: 0, ...(await ended) };
      } catch (error) {
        return error as { code: number | null; stdout: string; stderr: string };
      }
    }

    it('npm run reread prints one line, does not redefine the streams, and says that older events are missing', async () => {
      for (const date of DAYS) await world.publish(night(date));
      await world.settled();
      await world.rows('truncate sleep_session, sleep_data');
      expect(await run(['--from', FROM])).toEqual({
        code: 0,
        stdout: OUT,
        stderr: 'reread: the stream keeps 7 days, so older events are missing\n',
      });
      expect((await all()).nights).toHaveLength(4);
      // A command must not bring the streams to another environment's definition.
      expect((await world.manager.streams.info('AA_DLQ')).config.max_age).toBe(7 * 86_400e9);
      const since = new Date(Date.now() - 3_600_000).toISOString();
      expect(await run([`--from=${since}`])).toMatchObject({ code: 0, stderr: '' });
    });

    // reread-options.spec.ts has the other refused arguments.
    it('npm run reread prints its usage and exits with 1 if it gets an argument too many', async () => {
      const { code, stdout, stderr } = await run(['--from', FROM, 'twice']);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^reread: usage: reread --from /);
    });

    it.each([
      ['is away', (proxy: Proxy) => proxy.cut()],
      ['is frozen', (proxy: Proxy) => proxy.freezeAfter(0)],
    ])('npm run reread ends with one sentence if NATS %s', async (_, disturb) => {
      const proxy = await Proxy.before(world.nats.url);
      disturb(proxy);
      const since = new Date(Date.now() - 3_600_000).toISOString();
      expect(await run(['--from', since], { NATS_URL: proxy.url, START_WAIT_SECONDS: '0' })).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^reread: NATS at 127\.0\.0\.1:\d+ cannot be reached: .+\n$/),
      });
      await proxy.close();
    });

    it('npm run reread names the time to continue from if NATS freezes while it reads', async () => {
      await world.publish(night(DAYS[0]!));
      const proxy = await Proxy.before(world.nats.url);
      proxy.swallow('CONSUMER.MSG.NEXT');
      const since = LONG_AGO.toISOString();
      const { code, stderr } = await run(['--from', since], { NATS_URL: proxy.url });
      expect(code).toBe(1);
      expect(stderr).toContain(`go on with --from ${since}\n`);
      await proxy.close();
    });
  });
});

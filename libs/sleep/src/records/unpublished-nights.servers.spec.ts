import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { silent, SleepWorld } from '../../../../test/harness/sleep-world.js';
import { type Config, DependencyUnavailable, EventBus, type Sweeps } from '#platform';
import { SleepStore } from '../normalise/sleep-store.js';
import { NightRetention } from './night-retention.js';
import { endErasures } from './erasures.js';
import { IngestedSleepRecords, sleepRecordsOf } from './sleep-records.js';
import { UnpublishedNights } from './unpublished-nights.js';

const DATE = '2025-10-02';
const DAY_MS = 86_400_000;
const KEPT_DAYS = 30;

const OuraSleepRecords = sleepRecordsOf('oura');

describe('nights that a deletion has changed', () => {
  let world: SleepWorld;
  let athlete: string;
  let unpublished: UnpublishedNights;
  beforeAll(async () => {
    world = await SleepWorld.start();
    const bus = new EventBus(world.connection);
    unpublished = new UnpublishedNights(world.database, {} as Sweeps, new SleepStore(world.database), bus);
  });
  afterAll(() => world?.stop());
  beforeEach(async () => {
    athlete = await newAthlete(world.database);
    await world.startWorker();
  });
  afterEach(() => world.stopWorkers());

  const night = () => ({ userId: athlete, date: DATE, durationMinutes: 420 });
  const record = (id: string, revision: number) => ({
    vendor: 'oura' as const,
    id,
    revision,
    nap: false,
    state: 'scored' as const,
  });
  const forget = (records: Pick<IngestedSleepRecords, 'deleteSome'>) =>
    world.database.transaction((sql) => records.deleteSome(sql, athlete));
  const published = async () =>
    (await world.events('AA_CORE_HOT', 'athlete-ally.sleep.>')).flatMap((event) => {
      const { record } = event.json<{ record?: { userId: string; durationMinutes?: number } }>();
      const kind = event.subject.replace('athlete-ally.sleep.', '');
      return record?.userId === athlete ? [[kind, record.durationMinutes]] : [];
    });

  const removed = async () =>
    (await world.events('AA_CORE_HOT', 'athlete-ally.sleep.removed')).flatMap((event) => {
      const { userId, date } = event.json<{ record: { userId: string; date: string } }>().record;
      return userId === athlete ? [date] : [];
    });

  it('publishes a deleted night as removed, once, also with several workers', async () => {
    await world.publish(night());
    await world.settled();
    expect(await forget(new IngestedSleepRecords(world.database))).toBe(1);
    await Promise.all([unpublished.runOnce(), unpublished.runOnce()]);
    await unpublished.runOnce();
    expect(await published()).toEqual([
      ['normalized-stored', 420],
      ['removed', undefined],
    ]);
    expect(await world.rows('select 1 from sleep_untold')).toEqual([]);
  });

  it('publishes the new state of a night after one of its sessions was deleted', async () => {
    await world.publish({ ...night(), durationMinutes: 300 });
    await world.publish({ ...night(), record: record('main', 1) });
    await world.settled();
    await forget(new OuraSleepRecords(world.database));
    await unpublished.runOnce();
    expect((await published()).at(-1)).toEqual(['normalized-stored', 300]);
  });

  it('publishes nothing for a night that did not come from the deleted session', async () => {
    await world.publish({ ...night(), durationMinutes: 300 });
    await world.publish({ ...night(), record: record('main', 1) });
    await world.settled();
    const before = await published();
    await forget(new IngestedSleepRecords(world.database));
    await unpublished.runOnce();
    expect(await published()).toEqual(before);
  });

  it('retention deletes and publishes as removed, once, the nights past SLEEP_RETENTION_DAYS, and keeps those of the last days', async () => {
    const dateOf = (daysAgo: number) => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);
    const [past, kept] = [dateOf(KEPT_DAYS + 2), dateOf(KEPT_DAYS - 1)];
    for (const date of [past, kept]) {
      await world.publish({ ...night(), date });
      await world.publish({ ...night(), date, record: record(`main of ${date}`, 1) });
    }
    await world.settled();
    const config = { sleep: { historyDays: 90, retentionDays: KEPT_DAYS } } as Config;
    const retention = new NightRetention(world.database, {} as Sweeps, config, silent);
    await Promise.all([retention.runOnce(), retention.runOnce()]);
    await unpublished.runOnce();
    const dates = async (table: string) =>
      (
        await world.rows<{ date: string }>(
          `select distinct to_char(date, 'YYYY-MM-DD') as date from ${table} where user_id = $1`,
          [athlete],
        )
      ).map(({ date }) => date);
    expect([await dates('sleep_session'), await dates('sleep_data')]).toEqual([[kept], [kept]]);
    expect(await removed()).toEqual([past]);
    await retention.runOnce();
    await unpublished.runOnce();
    expect(await removed()).toEqual([past]);
  });

  it('publishes the last state of a night that came back before its removal was published', async () => {
    await world.publish(night());
    await world.settled();
    await forget(new IngestedSleepRecords(world.database));
    await endErasures(world.database, [athlete], { askedAt: 'now', newest: await world.natsNow() });
    await world.publish({ ...night(), durationMinutes: 421 });
    await world.settled();
    await unpublished.runOnce();
    expect((await published()).at(-1)).toEqual(['normalized-stored', 421]);
  });

  it('a run ends although a published night cannot be deleted from the table, and the next run publishes nothing again', async () => {
    await world.publish(night());
    await world.settled();
    await forget(new IngestedSleepRecords(world.database));
    await world.rows(`
      create function keep_row() returns trigger language plpgsql as 'begin return null; end'`);
    await world.rows(
      'create trigger kept before delete on sleep_untold for each row execute function keep_row()',
    );
    let hasEnded = false;
    const run = unpublished.runOnce().then(() => (hasEnded = true));
    try {
      await eventually('the run has ended', () => hasEnded);
    } finally {
      await world.rows('drop trigger kept on sleep_untold');
      await world.rows('drop function keep_row');
      await run;
    }
    await unpublished.runOnce();
    expect(await world.rows('select 1 from sleep_untold')).toEqual([]);
    expect(await removed()).toEqual([DATE]);
  });

  it('publishes a removed night after NATS is back', async () => {
    await world.publish(night());
    await world.settled();
    await forget(new IngestedSleepRecords(world.database));
    await world.nats.kill();
    await expect(unpublished.runOnce()).rejects.toBeInstanceOf(DependencyUnavailable);
    await world.nats.start();
    await eventually('a run that succeeds', () => unpublished.runOnce().then(() => true));
    expect((await published()).at(-1)).toEqual(['removed', undefined]);
  }, 60_000);
});

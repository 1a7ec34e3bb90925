import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { SleepWorld } from '../../../../test/harness/sleep-world.js';
import { DependencyUnavailable, EventBus, type Sweeps } from '#platform';
import { SleepStore } from '../normalise/sleep-store.js';
import { IngestedSleepRecords, OuraSleepRecords } from './session-records.js';
import { Untold } from './untold.js';

const DATE = '2025-10-02';

describe('nights that a deletion has changed', () => {
  let world: SleepWorld;
  let athlete: string;
  let untold: Untold;
  beforeAll(async () => {
    world = await SleepWorld.start();
    const bus = new EventBus(world.connection);
    untold = new Untold(world.database, {} as Sweeps, new SleepStore(world.database), bus);
  });
  afterAll(() => world.stop());
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
  const forget = (records: IngestedSleepRecords | OuraSleepRecords) =>
    world.database.transaction((sql) => records.deleteSome(sql, athlete));
  const told = async () =>
    (await world.events('AA_CORE_HOT', 'athlete-ally.sleep.>')).flatMap((event) => {
      const { record } = event.json<{ record?: { userId: string; durationMinutes?: number } }>();
      const what = event.subject.replace('athlete-ally.sleep.', '');
      return record?.userId === athlete ? [[what, record.durationMinutes]] : [];
    });

  it('are told of as removed, once, however often and by how many workers it is done', async () => {
    await world.publish(night());
    await world.settled();
    expect(await forget(new IngestedSleepRecords(world.database))).toBe(1);
    await Promise.all([untold.runOnce(), untold.runOnce()]);
    await untold.runOnce();
    expect(await told()).toEqual([
      ['normalized-stored', 420],
      ['removed', undefined],
    ]);
    expect(await world.rows('select 1 from sleep_untold')).toEqual([]);
  });

  it('are told of as what they have become where something is left', async () => {
    await world.publish({ ...night(), durationMinutes: 300 });
    await world.publish({ ...night(), record: record('main', 1) });
    await world.settled();
    await forget(new OuraSleepRecords(world.database));
    await untold.runOnce();
    expect((await told()).at(-1)).toEqual(['normalized-stored', 300]);
  });

  it('are not told of where they do not rest on what went', async () => {
    await world.publish({ ...night(), durationMinutes: 300 });
    await world.publish({ ...night(), record: record('main', 1) });
    await world.settled();
    const before = await told();
    await forget(new IngestedSleepRecords(world.database));
    await untold.runOnce();
    expect(await told()).toEqual(before);
  });

  it('have the last word also where they come back before anybody was told', async () => {
    await world.publish(night());
    await world.settled();
    await forget(new IngestedSleepRecords(world.database));
    await world.publish({ ...night(), durationMinutes: 421 });
    await world.settled();
    await untold.runOnce();
    expect((await told()).at(-1)).toEqual(['normalized-stored', 421]);
  });

  it('wait while NATS is away', async () => {
    await world.publish(night());
    await world.settled();
    await world.nats.kill();
    await forget(new IngestedSleepRecords(world.database));
    await expect(untold.runOnce()).rejects.toBeInstanceOf(DependencyUnavailable);
    await world.nats.start();
    await eventually('a run that succeeds', () => untold.runOnce().then(() => true));
    expect((await told()).at(-1)).toEqual(['removed', undefined]);
  }, 60_000);
});

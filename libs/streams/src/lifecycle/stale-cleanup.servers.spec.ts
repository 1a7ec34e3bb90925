import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SchedulerRegistry } from '@nestjs/schedule';
import { createLogger, type Database, Sweeps, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { newActivity, stateOf } from '../streams.harness.js';
import { StaleCleanup } from './stale-cleanup.js';
import { StreamFetches } from './stream-fetches.js';

describe('the cleanup of stale fetches', () => {
  let open: OpenDatabase;
  let sql: Database;
  let athleteId: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    athleteId = await newAthlete(sql);
  });
  afterAll(() => open.close());
  beforeEach(() => sql.query('delete from activity'));

  const logger = createLogger({ level: 'silent', process: 'test' });
  const registry = new SchedulerRegistry();
  const sweeps = new Sweeps(registry, timeScale(1), logger);
  function cleanup(factor: number): StaleCleanup {
    const scale = timeScale(factor);
    return new StaleCleanup(new StreamFetches(sql, scale), sweeps, scale, logger);
  }

  it('the cleanup of stale fetches runs at the start of the process and is registered as an interval', async () => {
    const id = await newActivity(sql, athleteId, { status: 'fetching', attempted: '11 minutes' });
    cleanup(1).onApplicationBootstrap();
    expect(registry.getIntervals()).toEqual(['stale stream fetches']);
    await sweeps.beforeApplicationShutdown();
    expect(await stateOf(sql, id)).toMatchObject({ status: 'failed' });
  });

  it.each([
    ['10 minutes', 1, '9 minutes 50 seconds', '10 minutes 1 second'],
    ['20 seconds at time scale 30', 30, '15 seconds', '21 seconds'],
    ['the duration of a call and its write at time scale 900', 900, '6 seconds', '11 seconds'],
  ])(
    'the cleanup ends stream fetches older than %s, and no younger ones',
    async (_, factor, shorter, longer) => {
      const alive = await newActivity(sql, athleteId, { status: 'fetching', attempted: shorter });
      const dead = await newActivity(sql, athleteId, { status: 'fetching', attempted: longer });
      await cleanup(factor).runOnce();
      expect(await stateOf(sql, alive)).toMatchObject({ status: 'fetching', fence: 0 });
      expect(await stateOf(sql, dead)).toMatchObject({
        status: 'failed',
        error: 'fetching_timeout_cleanup',
        fence: 1,
      });
    },
  );
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SchedulerRegistry } from '@nestjs/schedule';
import { createLogger, type Database, Sweeps, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { newActivity, ScriptedSource, stateOf } from '../streams.harness.js';
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
    const source = Object.assign(new ScriptedSource(), { longestCallMs: 8_000 });
    return new StaleCleanup(new StreamFetches(sql, scale), sweeps, source, scale, logger);
  }

  it('begins with the process, and comes again by itself', async () => {
    const id = await newActivity(sql, athleteId, { status: 'fetching', attempted: '11 minutes' });
    cleanup(1).onApplicationBootstrap();
    expect(registry.getIntervals()).toEqual(['stale stream fetches']);
    await sweeps.beforeApplicationShutdown();
    expect(await stateOf(sql, id)).toMatchObject({ status: 'failed' });
  });

  it.each([
    ['ten minutes', 1, '9 minutes 50 seconds', '10 minutes 1 second'],
    ['ten minutes of a faster clock', 30, '15 seconds', '21 seconds'],
    ['as long as a call and its row may take, however fast the clock', 900, '6 seconds', '11 seconds'],
  ])('takes back what was fetched for %s', async (_, factor, shorter, longer) => {
    const alive = await newActivity(sql, athleteId, { status: 'fetching', attempted: shorter });
    const dead = await newActivity(sql, athleteId, { status: 'fetching', attempted: longer });
    await cleanup(factor).runOnce();
    expect(await stateOf(sql, alive)).toMatchObject({ status: 'fetching', fence: 0 });
    expect(await stateOf(sql, dead)).toMatchObject({
      status: 'failed',
      error: 'fetching_timeout_cleanup',
      fence: 1,
    });
  });
});

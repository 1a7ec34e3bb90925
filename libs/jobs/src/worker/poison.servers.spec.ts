import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  asker,
  jobOf,
  newActivity,
  passTime,
  runsOf,
  ScriptedProcessor,
  workerWith,
} from '../jobs.harness.js';
import { Jobs } from '../lifecycle/jobs.js';
import { Runs } from '../lifecycle/runs.js';

const POISONED = new URL('../../../../test/harness/poisoned-worker.mjs', import.meta.url).pathname;

describe('a job that kills its worker each time', () => {
  let open: OpenDatabase;
  beforeAll(async () => {
    open = await openTestDatabase();
  });
  afterAll(() => open.close());

  /** A process that begins the job and dies of it. */
  const dieOfIt = async () => {
    const child = spawn(process.execPath, [POISONED, open.url], { stdio: ['ignore', 'ignore', 'inherit'] });
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  };

  it('fails for good when its attempts are used up, and the next job is done', async () => {
    const sql = open.database;
    const athleteId = await newAthlete(sql);
    const { automatic, forced } = asker(new Jobs(sql), athleteId);
    const poison = await newActivity(sql, athleteId);
    const healthy = await newActivity(sql, athleteId);
    await forced(poison);
    await automatic(healthy);
    const runs = new Runs(sql);
    for (const attempt of [1, 2, 3]) {
      await dieOfIt();
      expect(await jobOf(sql, poison)).toMatchObject({ status: 'running', attempt_count: attempt });
      await passTime(sql, '1 minute');
      await runs.requeueExpired();
    }
    expect(await jobOf(sql, poison)).toMatchObject({
      status: 'failed_permanent',
      last_error: 'lease_expired',
    });
    expect(await runsOf(sql, poison)).toMatchObject(
      [1, 2, 3].map((attempt_number) => ({
        attempt_number,
        status: 'failed_permanent',
        error: 'lease_expired',
      })),
    );

    const worker = workerWith({ database: sql, url: open.url, processor: new ScriptedProcessor() });
    worker.start();
    await eventually(
      'the healthy one is done',
      async () => (await jobOf(sql, healthy)).status === 'succeeded',
    );
    await worker.stop();
  });
});

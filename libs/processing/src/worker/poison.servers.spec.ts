import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  requestsOf,
  jobOf,
  newActivity,
  passTime,
  runsOf,
  ScriptedProcessor,
  workerWith,
} from '../processing.harness.js';
import { Jobs } from '../lifecycle/jobs.js';
import { Runs } from '../lifecycle/runs.js';

const POISONED = new URL('../../../../test/harness/poisoned-worker.mjs', import.meta.url).pathname;

describe('a job that kills its worker in each run', () => {
  let open: OpenDatabase;
  beforeAll(async () => {
    open = await openTestDatabase();
  });
  afterAll(() => open.close());

  /** Starts a worker process that runs all due jobs and is killed by the job of `poison`. */
  const killWorkerBy = async (poison: string) => {
    const child = spawn(process.execPath, [POISONED, open.url, poison], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  };

  const passLeases = async (runs: Runs) => {
    await passTime(open.database, '1 minute');
    await runs.requeueExpired();
  };

  it('a job that kills its worker fails permanently after its attempts, and no other job loses more than one attempt', async () => {
    const sql = open.database;
    const athleteId = await newAthlete(sql);
    const { automatic, forced } = requestsOf(new Jobs(sql), athleteId);
    const poison = await newActivity(sql, athleteId);
    const others = await Promise.all(Array.from({ length: 8 }, () => newActivity(sql, athleteId)));
    await forced(poison);
    for (const other of others) await automatic(other);
    const runs = new Runs(sql);
    // All nine jobs run in the process that is killed.
    await killWorkerBy(poison);
    expect(await jobOf(sql, poison)).toMatchObject({ status: 'running', attempt_count: 1 });
    for (const other of others) expect(await jobOf(sql, other)).toMatchObject({ status: 'running' });
    await passLeases(runs);
    // From now on the job runs before the others, and alone.
    for (const attempt of [2, 3]) {
      await killWorkerBy(poison);
      expect(await jobOf(sql, poison)).toMatchObject({ status: 'running', attempt_count: attempt });
      for (const other of others)
        expect(await jobOf(sql, other)).toMatchObject({ status: 'queued', attempt_count: 1 });
      await passLeases(runs);
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

    const fresh = await newActivity(sql, athleteId);
    await automatic(fresh);
    const worker = workerWith({ database: sql, url: open.url, processor: new ScriptedProcessor() });
    worker.start();
    for (const done of [...others, fresh])
      await eventually('success', async () => (await jobOf(sql, done)).status === 'succeeded');
    for (const other of others)
      expect(await jobOf(sql, other)).toMatchObject({ attempt_count: 2, lost_workers: 1 });
    await worker.stop();
  });
});

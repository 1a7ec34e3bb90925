import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database } from '#platform';
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

const INNOCENTS = 8;
// Their places among the innocents, by the time of their requests.
const POISON_AT = [2, 6];
// A broken worker might die without end. The test then fails after so many.
const MOST_KILLED = 8;
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

  /** Starts worker processes one after the other, each once the leases of the last one are over, until no job is left. Returns how many were killed. */
  const workUntilDone = async (sql: Database, poisons: readonly string[]) => {
    const isDone = async () => {
      const left = "select 1 from jobs where status in ('queued', 'retry_wait', 'claimed', 'running')";
      return (await sql.query(left)).count === 0;
    };
    for (let killed = 0; ; killed += 1) {
      expect(killed).toBeLessThanOrEqual(MOST_KILLED);
      const child = spawn(process.execPath, [POISONED, open.url, ...poisons], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const exited = once(child, 'exit');
      await eventually('the worker is killed or has done all', async () => child.signalCode ?? isDone());
      const isKilled = child.signalCode !== null;
      child.kill('SIGKILL');
      await exited;
      if (!isKilled) return killed;
      await passLeases(new Runs(sql));
    }
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

  it('two jobs in one batch that kill their workers fail permanently after five workers, and each other job succeeds once', async () => {
    const sql = open.database;
    const athleteId = await newAthlete(sql);
    const { automatic } = requestsOf(new Jobs(sql), athleteId);
    const all = await Promise.all(Array.from({ length: 2 + INNOCENTS }, () => newActivity(sql, athleteId)));
    for (const activity of all) await automatic(activity);
    const poisons = all.filter((_, index) => POISON_AT.includes(index));
    const others = all.filter((activity) => !poisons.includes(activity));
    // The first worker dies of both, and two more die of each.
    expect(await workUntilDone(sql, poisons)).toBe(5);
    for (const poison of poisons) {
      expect(await jobOf(sql, poison)).toMatchObject({
        status: 'failed_permanent',
        attempt_count: 3,
        lost_workers: 3,
        last_error: 'lease_expired',
      });
      expect((await runsOf(sql, poison)).map(({ status }) => status)).toEqual(
        Array.from({ length: 3 }, () => 'failed_permanent'),
      );
    }
    for (const other of others) {
      expect(await jobOf(sql, other)).toMatchObject({
        status: 'succeeded',
        attempt_count: 2,
        lost_workers: 1,
      });
      expect((await runsOf(sql, other)).map(({ status }) => status)).toEqual([
        'failed_permanent',
        'succeeded',
      ]);
    }
  });
});

import type pg from 'pg';
import { ConfigSnapshots, Runs } from '#processing';
import { createLogger, type Database, timeScale } from '#platform';
import { JobNotifications } from '../libs/processing/src/worker/job-notifications.js';
import { JobWorker } from '../libs/processing/src/worker/job-worker.js';
import { workerSettings } from '../libs/processing/src/worker/worker-settings.js';
import { openPool } from '../test/harness/test-database.js';
import { verify } from './harness.js';
import { bullMq, graphileWorker, pgBoss } from './jobs-peers.js';
import { type Goal } from './results.js';
import { clear, enqueueAll, newSample } from './jobs-sample.js';

const silent = createLogger({ level: 'silent', process: 'bench' });

/** A job queue whose jobs do nothing. */
export interface Contender {
  readonly name: string;
  /** The goal of Pacekeeper's rate divided by this queue's. */
  readonly goal?: Goal;
  /** The number of jobs for a slow queue. So many are enough to measure the rate, and more would take hours. */
  readonly most?: number;
  /** Enqueues this many jobs in the way that the queue's documentation says, runs all jobs, and returns the milliseconds. */
  run(jobs: number): Promise<number>;
  close(): Promise<void>;
}

type Open = (databaseUrl: string, admin: pg.Client, jobs: number) => Promise<Contender>;

/** The queues in the order of measurement. Each runs with its defaults, then with settings that its documentation suggests for many jobs. */
export const CONTENDERS: readonly Open[] = [
  (url, admin, jobs) => pacekeeper(url, admin, jobs),
  (url, admin, jobs) => pacekeeper(url, admin, jobs, 100),
  (url) => graphileWorker(url),
  (url) => graphileWorker(url, 16),
  (url) => pgBoss(url),
  (url) => pgBoss(url, { batchSize: 1_000, pollingIntervalSeconds: 0.5 }),
  () => bullMq(process.env.REDIS_URL ?? ''),
  () => bullMq(process.env.REDIS_URL ?? '', 100),
];

async function pacekeeper(
  url: string,
  admin: pg.Client,
  jobs: number,
  ownConcurrency?: number,
): Promise<Contender> {
  const concurrency = ownConcurrency ?? workerSettings(timeScale(1)).concurrency;
  const pool = await openPool(url);
  const sample = await newSample(admin, jobs);
  return {
    name: `pacekeeper, ${concurrency} at a time`,
    run: async (count) => {
      await clear(admin);
      let done = 0;
      let onDone: () => void = () => undefined;
      const allDone = new Promise<void>((resolve) => (onDone = resolve));
      const worker = workerOn(pool.database, url, concurrency, () => {
        done += 1;
        if (done === count) onDone();
      });
      const begunAt = performance.now();
      worker.start();
      await enqueueAll(pool.database, sample);
      await allDone;
      await worker.stop();
      const ms = performance.now() - begunAt;
      const { rowCount } = await admin.query(
        `select 1 from jobs where status = 'succeeded' and attempt_count = 1 and activity_id = any ($1)`,
        [sample.activityIds],
      );
      verify('jobs of Pacekeeper that succeeded at the first attempt', rowCount ?? 0, count);
      return ms;
    },
    close: () => pool.close(),
  };
}

export function workerOn(
  database: Database,
  url: string,
  concurrency: number,
  onBegun: () => void,
): JobWorker {
  const processor = {
    name: 'no-op',
    process: () => {
      onBegun();
      return Promise.resolve({ result: {} });
    },
  };
  const settings = { ...workerSettings(timeScale(1)), concurrency };
  const notifications = new JobNotifications(url, silent);
  return new JobWorker(
    new Runs(database),
    new ConfigSnapshots(database),
    notifications,
    processor,
    settings,
    silent,
  );
}

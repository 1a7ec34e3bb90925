import type pg from 'pg';
import { ConfigSnapshots, Runs } from '#jobs';
import { createLogger, type Database, timeScale } from '#platform';
import { JobNotifications } from '../libs/jobs/src/worker/job-notifications.js';
import { JobWorker } from '../libs/jobs/src/worker/job-worker.js';
import { workerSettings } from '../libs/jobs/src/worker/worker-settings.js';
import { openPool } from '../test/harness/test-database.js';
import { graphileWorker, pgBoss } from './jobs-peers.js';
import { clear, enqueueAll, newSample } from './jobs-sample.js';

export const silent = createLogger({ level: 'silent', process: 'bench' });

/** A queue, with work that does nothing. */
export interface Contender {
  readonly name: string;
  /** At its default settings. */
  readonly asItComes: boolean;
  /** Where even a few tell its rate, and many would take hours. */
  readonly most?: number;
  /** Enqueues so many as its documentation says and has them all done; answers how long that took. */
  run(jobs: number): Promise<number>;
  close(): Promise<void>;
}

type Open = (databaseUrl: string, admin: pg.Client, jobs: number) => Promise<Contender>;

/** Who is measured, in turn, in the same database and the same run: each at its defaults, then at what suits it. */
export const CONTENDERS: readonly Open[] = [
  (url, admin, jobs) => pacekeeper(url, admin, jobs),
  (url, admin, jobs) => pacekeeper(url, admin, jobs, 100),
  (url) => graphileWorker(url),
  (url) => graphileWorker(url, 16),
  (url) => pgBoss(url),
  (url) => pgBoss(url, { batchSize: 1_000, pollingIntervalSeconds: 0.5 }),
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
    asItComes: ownConcurrency === undefined,
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
      if (rowCount !== count) throw new Error(`${rowCount} of ${count} succeeded`);
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

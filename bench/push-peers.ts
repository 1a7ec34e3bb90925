import { once } from 'node:events';
import { Logger, run } from 'graphile-worker';
import PgBoss from 'pg-boss';
import pg from 'pg';

const TASK = 'deliver';
const AT_ONCE = 100;
const BATCH = 1_000;
const quiet = new Logger(() => () => undefined);

/** Makes one request. */
export type Send = (path: string, id: string) => Promise<void>;

interface Delivery {
  readonly path: string;
  readonly id: string;
}

interface Peer {
  readonly name: string;
  /** Enqueues and sends all of them; returns the time from the first job to the last. */
  run(deliveries: readonly Delivery[], send: Send): Promise<number>;
}

/** A queue of jobs as a delivery queue: one job for each change and endpoint, 100 jobs at a time. */
export const graphileWorker = (connectionString: string): Peer => ({
  name: `graphile-worker, ${AT_ONCE} at a time`,
  run: async (deliveries, send) => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    const all = countdown(deliveries.length);
    const deliver = async (payload: unknown) => {
      const { path, id } = payload as Delivery;
      await send(path, id);
      all.oneMore();
    };
    const options = { connectionString, noHandleSignals: true, logger: quiet, concurrency: AT_ONCE };
    const runner = await run({ ...options, taskList: { [TASK]: deliver } });
    const begunAtMs = performance.now();
    await client.query(
      `select count(*)
       from graphile_worker.add_jobs(array(
         select json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', $1::text, 'payload', payload))
         from json_array_elements($2::json) as payload
       ))`,
      [TASK, JSON.stringify(deliveries)],
    );
    await all.done;
    const ms = performance.now() - begunAtMs;
    await runner.stop();
    await client.end();
    return ms;
  },
});

/** It fetches a batch and waits for all of it; 0.5 s is its shortest interval, so its batches are larger. */
export const pgBoss = (connectionString: string): Peer => ({
  name: `pg-boss, ${BATCH} each 0.5 s`,
  run: async (deliveries, send) => {
    const boss = new PgBoss({ connectionString, schedule: false });
    await boss.start();
    await boss.createQueue(TASK);
    const all = countdown(deliveries.length);
    const options = { batchSize: BATCH, pollingIntervalSeconds: 0.5 };
    const begunAtMs = performance.now();
    await boss.insert(deliveries.map((data) => ({ name: TASK, data })));
    await boss.work<Delivery>(TASK, options, async (jobs) => {
      await Promise.all(jobs.map(({ data: { path, id } }) => send(path, id)));
      jobs.forEach(all.oneMore);
    });
    await all.done;
    const ms = performance.now() - begunAtMs;
    const stopped = once(boss, 'stopped');
    await boss.stop({ graceful: false });
    await stopped;
    return ms;
  },
});

function countdown(count: number): { done: Promise<void>; oneMore: () => void } {
  let left = count;
  let onDone: () => void = () => undefined;
  const done = new Promise<void>((resolve) => (onDone = resolve));
  const oneMore = () => {
    left -= 1;
    if (left === 0) onDone();
  };
  return { done, oneMore };
}

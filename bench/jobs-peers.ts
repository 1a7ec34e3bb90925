import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import { Logger, run } from 'graphile-worker';
import { Redis } from 'ioredis';
import PgBoss from 'pg-boss';
import pg from 'pg';
import { verify } from './harness.js';
import { type Contender } from './jobs-contenders.js';

const TASK = 'no-op';
// Pacekeeper's default has to be as fast as the default of each queue that keeps its jobs in Postgres.
const AS_IT_COMES = { goal: { atLeast: 1 } };
const quiet = new Logger(() => () => undefined);

/** A job that does nothing. Its number shows that each job ran exactly once. */
interface Numbered {
  readonly n: number;
}

/** Graphile Worker. Jobs are enqueued with `add_jobs`, its function for many jobs. It makes its schema at its first run. */
export async function graphileWorker(url: string, concurrency?: number): Promise<Contender> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    name: concurrency ? `graphile-worker, ${concurrency} at a time` : 'graphile-worker, default, 1 at a time',
    ...(!concurrency && AS_IT_COMES),
    run: async (count) => {
      const begunAt = performance.now();
      const all = eachOnce(count);
      const runner = await run({
        connectionString: url,
        taskList: { [TASK]: (payload) => all.ran(payload as Numbered) },
        noHandleSignals: true,
        logger: quiet,
        ...(concurrency && { concurrency }),
      });
      await client.query(
        `select count(*)
         from graphile_worker.add_jobs(array(
           select json_populate_record(
             null::graphile_worker.job_spec, json_build_object('identifier', $1::text, 'payload', json_build_object('n', n))
           )
           from generate_series(0, $2::int - 1) as n
         ))`,
        [TASK, count],
      );
      await all.done;
      await runner.stop();
      const ms = performance.now() - begunAt;
      verify('jobs of graphile-worker left', await countOf(client, 'graphile_worker.jobs'), 0);
      return ms;
    },
    close: () => client.end(),
  };
}

interface BossOptions {
  readonly batchSize: number;
  readonly pollingIntervalSeconds: number;
}

/** pg-boss. By default it fetches one job every two seconds, so only a few jobs are used to measure its default rate. */
export async function pgBoss(url: string, options?: BossOptions): Promise<Contender> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const boss = new PgBoss({ connectionString: url, schedule: false });
  await boss.start();
  const queue = options ? `${TASK}-${options.batchSize}` : TASK;
  await boss.createQueue(queue);
  return {
    name: options ? `pg-boss, ${options.batchSize} at a time` : 'pg-boss, default, 1 each 2 s',
    ...(!options && { ...AS_IT_COMES, most: 4 }),
    run: async (count) => {
      const begunAt = performance.now();
      const all = eachOnce(count);
      const worker = await boss.work<Numbered>(queue, options ?? {}, (jobs) => {
        for (const { data } of jobs) all.ran(data);
        return Promise.resolve();
      });
      await boss.insert(Array.from({ length: count }, (_, n) => ({ name: queue, data: { n } })));
      await all.done;
      await boss.offWork({ id: worker });
      const ms = performance.now() - begunAt;
      const waiting = `pgboss.job where name = '${queue}' and state = 'created'`;
      verify('jobs of pg-boss left', await countOf(client, waiting), 0);
      return ms;
    },
    close: async () => {
      const stopped = once(boss, 'stopped');
      await boss.stop({ graceful: false });
      await Promise.all([stopped, client.end()]);
    },
  };
}

/** BullMQ. Jobs are enqueued with `addBulk`. Redis syncs to disk once a second, so a crash may lose the jobs of a second; Postgres loses none. */
export async function bullMq(redisUrl: string, concurrency?: number): Promise<Contender> {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue<Numbered>(`${TASK}-${concurrency ?? 'default'}`, { connection });
  await queue.waitUntilReady();
  return {
    name: concurrency ? `BullMQ, ${concurrency} at a time` : 'BullMQ, default, 1 at a time',
    run: async (count) => {
      const begunAt = performance.now();
      const all = eachOnce(count);
      const worker = new Worker<Numbered>(
        queue.name,
        ({ data }) => {
          all.ran(data);
          return Promise.resolve();
        },
        { connection, ...(concurrency && { concurrency }) },
      );
      await queue.addBulk(Array.from({ length: count }, (_, n) => ({ name: TASK, data: { n } })));
      await all.done;
      await worker.close();
      const ms = performance.now() - begunAt;
      verify(
        'jobs of BullMQ left',
        (await queue.getJobCountByTypes('waiting', 'active', 'failed')) ?? NaN,
        0,
      );
      await queue.obliterate({ force: true });
      return ms;
    },
    close: async () => {
      await queue.close();
      connection.disconnect();
    },
  };
}

/** Resolves once each of the numbers below `count` has run; rejects if one runs twice. */
function eachOnce(count: number): { done: Promise<void>; ran: (job: Numbered) => void } {
  const seen = new Set<number>();
  const { promise: done, resolve, reject } = promiseParts();
  const ran = ({ n }: Numbered) => {
    if (seen.has(n)) reject(new Error(`job ${n} ran twice`));
    seen.add(n);
    if (seen.size < count) return;
    verify('jobs that ran exactly once', seen.size, count);
    resolve();
  };
  return { done, ran };
}

function promiseParts() {
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<void>((...parts) => ([resolve, reject] = parts));
  return { promise, resolve, reject };
}

async function countOf(client: pg.Client, table: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${table}`);
  return rows[0]?.count ?? NaN;
}

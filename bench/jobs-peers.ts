import { once } from 'node:events';
import { Logger, run } from 'graphile-worker';
import PgBoss from 'pg-boss';
import pg from 'pg';
import { type Contender } from './jobs-contenders.js';

const TASK = 'no-op';
const quiet = new Logger(() => () => undefined);

/** Its own way of adding many, `add_jobs`. The schema is made when it first runs. */
export async function graphileWorker(url: string, concurrency?: number): Promise<Contender> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    name: `graphile-worker, ${concurrency ?? 'as it comes, 1'} at a time`,
    asItComes: concurrency === undefined,
    run: async (count) => {
      const begunAt = performance.now();
      const all = doneAfter(count);
      const runner = await run({
        connectionString: url,
        taskList: { [TASK]: all.oneMore },
        noHandleSignals: true,
        logger: quiet,
        ...(concurrency && { concurrency }),
      });
      await client.query(
        `select count(*)
         from graphile_worker.add_jobs(array(
           select json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', $1::text))
           from generate_series(1, $2::int)
         ))`,
        [TASK, count],
      );
      await all.done;
      await runner.stop();
      const ms = performance.now() - begunAt;
      await expectNone(client, 'select count(*)::int as left from graphile_worker.jobs');
      return ms;
    },
    close: () => client.end(),
  };
}

interface BossOptions {
  readonly batchSize: number;
  readonly pollingIntervalSeconds: number;
}

/** As it comes it looks every two seconds for one job, so a handful has to do for its rate. */
export async function pgBoss(url: string, options?: BossOptions): Promise<Contender> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const boss = new PgBoss({ connectionString: url, schedule: false });
  await boss.start();
  const queue = options ? `${TASK}-${options.batchSize}` : TASK;
  await boss.createQueue(queue);
  return {
    name: options ? `pg-boss, ${options.batchSize} at a time` : 'pg-boss, as it comes, 1 each 2 s',
    asItComes: !options,
    ...(!options && { most: 4 }),
    run: async (count) => {
      const begunAt = performance.now();
      const all = doneAfter(count);
      const worker = await boss.work(queue, options ?? {}, (jobs) => {
        jobs.forEach(all.oneMore);
        return Promise.resolve();
      });
      await boss.insert(Array.from({ length: count }, () => ({ name: queue, data: {} })));
      await all.done;
      await boss.offWork({ id: worker });
      const ms = performance.now() - begunAt;
      await expectNone(
        client,
        `select count(*)::int as left from pgboss.job where name = '${queue}' and state = 'created'`,
      );
      return ms;
    },
    close: async () => {
      const stopped = once(boss, 'stopped');
      await boss.stop({ graceful: false });
      await Promise.all([stopped, client.end()]);
    },
  };
}

function doneAfter(count: number): { done: Promise<void>; oneMore: () => void } {
  let seen = 0;
  let onDone: () => void = () => undefined;
  const done = new Promise<void>((resolve) => (onDone = resolve));
  const oneMore = () => {
    seen += 1;
    if (seen === count) onDone();
  };
  return { done, oneMore };
}

async function expectNone(client: pg.Client, question: string): Promise<void> {
  const { rows } = await client.query<{ left: number }>(question);
  if (rows[0]?.left !== 0) throw new Error(`${rows[0]?.left} jobs were left`);
}

import { type JobOptions, type Queue } from 'bull';

/** A job whose id keeps it from being queued twice. */
interface UniqueJob<Data> {
  readonly data: Data;
  readonly options: JobOptions & { readonly jobId: string };
}

const LISTS = ['wait', 'paused', 'active'] as const;
// No window of a vendor lasts longer. A longer delay means that the clock of the worker that added the job was ahead.
const LONGEST_DELAY_MS = 86_400_000;
// Bull's score of a delayed job is its time in ms times this, plus a counter.
const SCORES_PER_MS = 0x1000;

/**
 * Queues each of these jobs that stands in no list of the queue. Bull ignores a job whose id has a hash, even if Redis has lost its place in
 * the lists, as after an eviction or a partial restore. So such a hash is removed first, unless a worker holds the job's lock. A job that is
 * delayed for more than a day is queued anew, too.
 *
 * Costs one round trip that reads all lists, and three for each missing job. Not guaranteed: a job that moves to another list meanwhile
 * may be queued a second time.
 */
export async function queueMissing<Data>(
  queue: Queue<Data>,
  jobs: ReadonlyArray<UniqueJob<Data>>,
): Promise<void> {
  if (jobs.length === 0) return;
  const listed = await listedIds(queue);
  for (const { data, options } of jobs) {
    if (listed.has(options.jobId)) continue;
    const lost = await queue.getJob(options.jobId);
    if (lost && (await queue.client.exists(lost.lockKey()))) continue;
    await lost?.remove();
    await queue.add(data, options);
  }
}

async function listedIds(queue: Queue): Promise<ReadonlySet<string>> {
  const reads = queue.client.multi();
  for (const list of LISTS) reads.lrange(queue.toKey(list), 0, -1);
  const latest = (Date.now() + LONGEST_DELAY_MS) * SCORES_PER_MS;
  const answers = await reads.zrangebyscore(queue.toKey('delayed'), '-inf', latest).exec();
  if (!answers) throw new Error('Redis answered nothing to MULTI');
  return new Set(
    answers.flatMap(([error, ids]) => {
      if (error) throw error;
      return ids as string[];
    }),
  );
}

import { getQueueToken } from '@nestjs/bull';
import { type FactoryProvider } from '@nestjs/common';
import { type Job, type Queue } from 'bull';
import { IMPORT_QUEUE } from '#activities';
import { BACKFILLED, queueOf } from '#backfill';
import { DependencyUnavailable, isRedisAway } from '#platform';

const SHOWN_TICKS = 20;
const STATES = ['active', 'waiting', 'delayed'] as const;
type TickState = (typeof STATES)[number];

interface TickView {
  readonly id: string;
  readonly state: TickState;
  /** Null for ticks of imports, whose `import_id` leads to the athlete. */
  readonly athlete_id: string | null;
  readonly import_id: string | null;
  readonly queued_at: Date;
  /** A delayed tick is given to a worker at this time. */
  readonly due_at: Date;
}

interface QueueView {
  readonly queue: string;
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly failed: number;
  /** The first ticks of each state. */
  readonly ticks: readonly TickView[];
}

interface TickData {
  readonly athleteId?: string;
  readonly importId?: string;
}

/**
 * Shows operators the Bull queues of ticks; it changes nothing. A tick says only "look at this row": an empty queue does not mean that
 * no work is due, because sweeps queue missing ticks.
 */
export class Queues {
  constructor(private readonly queues: ReadonlyArray<Queue<TickData>>) {}

  async read(): Promise<QueueView[]> {
    try {
      return await Promise.all(this.queues.map(viewOf));
    } catch (cause) {
      throw isRedisAway(cause) ? new DependencyUnavailable('redis', { cause }) : cause;
    }
  }
}

export const queues: FactoryProvider<Queues> = {
  provide: Queues,
  inject: [IMPORT_QUEUE, ...BACKFILLED.map(queueOf)].map((name) => getQueueToken(name)),
  useFactory: (...all: Array<Queue<TickData>>) => new Queues(all),
};

async function viewOf(queue: Queue<TickData>): Promise<QueueView> {
  const [counts, ...ofStates] = await Promise.all([
    queue.getJobCounts(),
    ...STATES.map(async (state) => ({ state, jobs: await queue.getJobs([state], 0, SHOWN_TICKS - 1, true) })),
  ]);
  const { waiting, active, delayed, failed } = counts;
  const ticks = ofStates.flatMap(({ state, jobs }) => jobs.flatMap((job) => tickOf(job, state)));
  return { queue: queue.name, waiting, active, delayed, failed, ticks };
}

/** Bull returns null for a tick that has ended meanwhile. */
function tickOf(job: Job<TickData> | null, state: TickState): TickView[] {
  if (!job) return [];
  const { id, data, timestamp, opts } = job;
  return [
    {
      id: String(id),
      state,
      athlete_id: data.athleteId ?? null,
      import_id: data.importId ?? null,
      queued_at: new Date(timestamp),
      due_at: new Date(timestamp + (opts.delay ?? 0)),
    },
  ];
}

// For specs only
import { randomUUID } from 'node:crypto';
import { createLogger, type Database, fenceRejected, type Sql } from '#platform';
import { type Enqueued, type JobRequest, type JobStatus } from './lifecycle/job.js';
import { type Jobs } from './lifecycle/jobs.js';
import { type RunClaim, type RunOutcome } from './lifecycle/run.js';
import { Runs } from './lifecycle/runs.js';
import { type Processor } from './processor.js';
import { ConfigSnapshots } from './settings/config-snapshots.js';
import { JobNotifications, type ListenTimes } from './worker/job-notifications.js';
import { JobWorker } from './worker/job-worker.js';
import { type WorkerSettings } from './worker/worker-settings.js';

export const LEASE_MS = 30_000;

export async function newActivity(sql: Sql, athleteId: string): Promise<string> {
  const id = randomUUID();
  await sql.query(
    `insert into activity (
       provider, id, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at
     )
     values ('strava', $1, $2, $3, 'Run', 'Run', now(), 10000, 3600, 3600, 100, false, false, 0, now())`,
    [id, athleteId, id.replaceAll(/\D/g, '')],
  );
  return id;
}

/** Requests jobs of one athlete: `automatic` like discovery, `forced` like a person. */
export function requestsOf(jobs: Jobs, athleteId: string) {
  const request = async (activityId: string, more: Partial<JobRequest>, sql?: Sql): Promise<Enqueued> => {
    const all = {
      athleteId,
      activityIds: [activityId],
      kind: 'auto_poll',
      requestedBy: 'test',
      ...more,
    } as const;
    const [enqueued] = await jobs.enqueue(all, sql);
    if (!enqueued) throw new Error('no such activity');
    return enqueued;
  };
  return {
    automatic: (activityId: string, sql?: Sql) => request(activityId, {}, sql),
    forced: (activityId: string) => request(activityId, { kind: 'manual_activity', force: true }),
    request,
  };
}

interface JobRow {
  readonly job_id: string;
  readonly activity_id: string;
  readonly status: JobStatus;
  readonly attempt_count: number;
  readonly lost_workers: number;
  readonly force_update: boolean;
  readonly lease_owner: string | null;
  readonly run_id: string | null;
  readonly last_error: string | null;
  readonly waits_for: string | null;
  readonly last_result_json: unknown;
  readonly waits_ms: number;
}

export async function jobsOf(sql: Sql, activityId: string): Promise<JobRow[]> {
  const { rows } = await sql.query<JobRow>(
    `select *, (extract(epoch from available_at_utc - now()) * 1000)::float8 as waits_ms
     from jobs
     where activity_id = $1
     order by requested_at_utc`,
    [activityId],
  );
  return rows;
}

export async function jobOf(sql: Sql, activityId: string): Promise<JobRow> {
  const job = (await jobsOf(sql, activityId)).at(-1);
  if (!job) throw new Error('no job');
  return job;
}

interface RunRow {
  readonly status: string;
  readonly error: string | null;
  readonly attempt_number: number;
  readonly worker_owner: string;
}

export async function runsOf(sql: Sql, activityId: string): Promise<RunRow[]> {
  const { rows } = await sql.query<RunRow>(
    `select status, error, attempt_number, worker_owner
     from runs
     where activity_id = $1
     order by started_at_utc, attempt_number`,
    [activityId],
  );
  return rows;
}

export async function isProcessed(sql: Sql, activityId: string): Promise<boolean> {
  const { count } = await sql.query('select 1 from processed_activities where activity_id = $1', [
    activityId,
  ]);
  return count > 0;
}

export async function stateOf(sql: Sql, activityId: string): Promise<string | undefined> {
  const { rows } = await sql.query<{ state: string }>(
    'select state from activity_state where activity_id = $1',
    [activityId],
  );
  return rows[0]?.state;
}

/** Moves the request, due and lease times of all jobs back by an interval, as if that much time had passed. */
export async function passTime(sql: Sql, interval: string): Promise<void> {
  await sql.query(
    `update jobs
     set
       requested_at_utc = requested_at_utc - $1::interval,
       available_at_utc = available_at_utc - $1::interval,
       lease_expires_at_utc = lease_expires_at_utc - $1::interval`,
    [interval],
  );
}

export const SUCCEEDED: RunOutcome = {
  kind: 'succeeded',
  output: { profileId: 'easy', title: 'An easy hour', descriptionHash: 'abc', resultJson: '{"segments":[]}' },
};
export const FAILED: RunOutcome = { kind: 'failed', error: 'hopeless' };
export const RETRY: RunOutcome = { kind: 'retry', error: 'not now', afterMs: 60_000 };

export async function complete(
  runs: Runs,
  owner: string,
  claim: RunClaim,
  outcome = SUCCEEDED,
): Promise<boolean> {
  return (await runs.complete(owner, [{ claim, outcome }])).has(claim.run_id);
}

export async function rejectedWrites(): Promise<number> {
  const { values } = await fenceRejected.get();
  return values.find(({ labels }) => labels['kind'] === 'job')?.value ?? 0;
}

export const silent = createLogger({ level: 'silent', process: 'test' });

export const SETTINGS: WorkerSettings = {
  concurrency: 4,
  leaseMs: LEASE_MS,
  deadlineMs: 120_000,
  pollMs: 60_000,
  stopWithinMs: 15_000,
  retryAfterMs: () => 60_000,
};

export interface WorkerSetup {
  readonly database: Database;
  readonly url: string;
  readonly processor: Processor;
  readonly settings?: Partial<WorkerSettings>;
  readonly listenTimes?: ListenTimes;
}

export function workerWith({ database, url, processor, settings, listenTimes }: WorkerSetup): JobWorker {
  return new JobWorker(
    new Runs(database),
    new ConfigSnapshots(database),
    new JobNotifications(url, silent, listenTimes),
    processor,
    { ...SETTINGS, ...settings },
    silent,
  );
}

/** A processor that runs a test's script for each activity, and succeeds without one. */
export class ScriptedProcessor implements Processor {
  readonly name = 'scripted';
  readonly begun: string[] = [];
  private readonly scripts = new Map<string, Processor['process']>();

  process: Processor['process'] = (request, signal) => {
    this.begun.push(request.activityId);
    const script = this.scripts.get(request.activityId);
    return script ? script(request, signal) : Promise.resolve({ result: { of: request.activityId } });
  };

  when(activityId: string, script: Processor['process']): void {
    this.scripts.set(activityId, script);
  }
}

/** A promise that the test resolves. */
export function deferred<T = void>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { newActivity } from '../processing.harness.js';
import { JOB_STATUSES, type JobStatus } from './job.js';

const TRANSITIONS: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  queued: ['claimed', 'cancelled'],
  claimed: ['running', 'queued', 'failed_permanent', 'cancelled'],
  running: ['succeeded', 'retry_wait', 'failed_permanent', 'queued', 'cancelled'],
  retry_wait: ['claimed', 'failed_permanent', 'cancelled'],
  succeeded: [],
  failed_permanent: [],
  cancelled: [],
};
const FINISHED: readonly JobStatus[] = ['succeeded', 'failed_permanent', 'cancelled'];
const LEASED: readonly JobStatus[] = ['claimed', 'running'];

/** SQL assignments that put a job into a status, without any history. */
const columnsFor = (status: JobStatus) => `
  status = '${status}',
  finished_at_utc = ${FINISHED.includes(status) ? 'now()' : 'null'},
  lease_owner = ${LEASED.includes(status) ? `'me'` : 'null'},
  lease_expires_at_utc = ${LEASED.includes(status) ? 'now()' : 'null'},
  started_at_utc = now()`;
const asAClaim = 'attempt_count = attempt_count + 1, run_id = gen_random_uuid()';

describe('the trigger and constraints of the table jobs', () => {
  let open: OpenDatabase;
  let sql: Database;
  let activityId: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from athlete');
    activityId = await newActivity(sql, await newAthlete(sql));
  });

  const jobIn = (status: JobStatus) =>
    sql.query(
      `insert into jobs (
         athlete_id, activity_id, request_kind, requested_by, max_attempts, attempt_count, run_id, status, finished_at_utc, lease_owner,
         lease_expires_at_utc, started_at_utc
       )
       select
         athlete_id, id, 'auto_poll', 'test', 3, 1, gen_random_uuid(), $2, case when $3 then now() end,
         case when $4 then 'me' end, case when $4 then now() end, now()
       from activity
       where id = $1`,
      [activityId, status, FINISHED.includes(status), LEASED.includes(status)],
    );
  const update = (set: string) => sql.query(`update jobs set ${set}`);

  for (const from of JOB_STATUSES)
    it(`a job in the status ${from} may change to ${TRANSITIONS[from].join(', ') || 'nothing'} and nothing else`, async () => {
      for (const to of JOB_STATUSES) {
        if (to === from) continue;
        await sql.query('delete from jobs');
        await jobIn(from);
        const moved = update(columnsFor(to) + (to === 'claimed' ? `, ${asAClaim}` : ''));
        if (TRANSITIONS[from].includes(to)) expect({ to, ...(await moved) }).toMatchObject({ to, count: 1 });
        else await expect(moved).rejects.toThrow(`no way from ${from} to ${to}`);
      }
    });

  it('a claim without a new run or without an attempt is rejected by the trigger of jobs', async () => {
    await jobIn('queued');
    await expect(update(`${columnsFor('claimed')}, attempt_count = attempt_count + 1`)).rejects.toThrow(
      'a new run',
    );
    await expect(update(`${columnsFor('claimed')}, run_id = gen_random_uuid()`)).rejects.toThrow(
      'counts as an attempt',
    );
  });

  it('the run of a running job can be changed by a claim only', async () => {
    await jobIn('running');
    await expect(update('run_id = gen_random_uuid()')).rejects.toThrow('only a claim');
    await expect(update(`${columnsFor('succeeded')}, run_id = gen_random_uuid()`)).rejects.toThrow(
      'only a claim',
    );
  });

  it.each<[string, JobStatus, string, string]>([
    [
      'has succeeded without finished_at_utc',
      'running',
      columnsFor('succeeded').replace(`finished_at_utc = now()`, 'updated_at_utc = now()'),
      'jobs_finished',
    ],
    ['runs with finished_at_utc', 'running', 'finished_at_utc = now()', 'jobs_finished'],
    ['runs without a lease', 'running', 'lease_owner = null, lease_expires_at_utc = null', 'jobs_leased'],
    ['has a lease without an end', 'running', 'lease_expires_at_utc = null', 'jobs_leased'],
    [
      'is in retry_wait with a lease',
      'retry_wait',
      `lease_owner = 'me', lease_expires_at_utc = now()`,
      'jobs_leased',
    ],
    ['has more attempts than max_attempts', 'succeeded', 'attempt_count = 4', 'jobs_attempts'],
    ['is queued without an attempt left', 'queued', 'max_attempts = 1', 'jobs_queued'],
  ])('the table jobs rejects a job that %s', async (_, status, set, constraint) => {
    await jobIn(status);
    await expect(update(set)).rejects.toThrow(constraint);
  });

  it('the table jobs rejects a second unfinished job of an activity', async () => {
    for (const status of FINISHED) await jobIn(status);
    await jobIn('retry_wait');
    await expect(jobIn('queued')).rejects.toThrow('jobs_one_unfinished');
  });
});

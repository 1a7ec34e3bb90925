import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { newActivity } from '../jobs.harness.js';
import { JOB_STATUSES, type JobStatus } from './job.js';

const WAYS: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
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

/** What a job in that state looks like, however it came there. */
const looks = (status: JobStatus) => `
  status = '${status}',
  finished_at_utc = ${FINISHED.includes(status) ? 'now()' : 'null'},
  lease_owner = ${LEASED.includes(status) ? `'me'` : 'null'},
  lease_expires_at_utc = ${LEASED.includes(status) ? 'now()' : 'null'},
  started_at_utc = now()`;
const asAClaim = 'attempt_count = attempt_count + 1, run_id = gen_random_uuid()';

describe('the table of jobs', () => {
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
         activity_id, request_kind, requested_by, max_attempts, attempt_count, run_id, status, finished_at_utc, lease_owner,
         lease_expires_at_utc, started_at_utc
       )
       values (
         $1, 'auto_poll', 'test', 3, 1, gen_random_uuid(), $2, case when $3 then now() end, case when $4 then 'me' end,
         case when $4 then now() end, now()
       )`,
      [activityId, status, FINISHED.includes(status), LEASED.includes(status)],
    );
  const update = (set: string) => sql.query(`update jobs set ${set}`);

  for (const from of JOB_STATUSES)
    it(`lets ${from} become ${WAYS[from].join(', ') || 'nothing'} and nothing else`, async () => {
      for (const to of JOB_STATUSES) {
        if (to === from) continue;
        await sql.query('delete from jobs');
        await jobIn(from);
        const moved = update(looks(to) + (to === 'claimed' ? `, ${asAClaim}` : ''));
        if (WAYS[from].includes(to)) expect({ to, ...(await moved) }).toMatchObject({ to, count: 1 });
        else await expect(moved).rejects.toThrow(`no way from ${from} to ${to}`);
      }
    });

  it('counts every claim and gives it a run of its own', async () => {
    await jobIn('queued');
    await expect(update(`${looks('claimed')}, attempt_count = attempt_count + 1`)).rejects.toThrow(
      'a new run',
    );
    await expect(update(`${looks('claimed')}, run_id = gen_random_uuid()`)).rejects.toThrow(
      'counts as an attempt',
    );
  });

  it('gives a run to nobody else while it lasts', async () => {
    await jobIn('running');
    await expect(update('run_id = gen_random_uuid()')).rejects.toThrow('only a claim');
    await expect(update(`${looks('succeeded')}, run_id = gen_random_uuid()`)).rejects.toThrow('only a claim');
  });

  it.each<[string, JobStatus, string, string]>([
    [
      'is finished without a moment',
      'running',
      looks('succeeded').replace(`finished_at_utc = now()`, 'updated_at_utc = now()'),
      'jobs_finished',
    ],
    ['has finished and goes on', 'running', 'finished_at_utc = now()', 'jobs_finished'],
    ['runs without a lease', 'running', 'lease_owner = null, lease_expires_at_utc = null', 'jobs_leased'],
    ['is leased for ever', 'running', 'lease_expires_at_utc = null', 'jobs_leased'],
    ['waits and is leased', 'retry_wait', `lease_owner = 'me', lease_expires_at_utc = now()`, 'jobs_leased'],
    ['has been tried more often than it may', 'succeeded', 'attempt_count = 4', 'jobs_attempts'],
    ['is queued without an attempt left', 'queued', 'max_attempts = 1', 'jobs_queued'],
  ])('has no job that %s', async (_, status, set, constraint) => {
    await jobIn(status);
    await expect(update(set)).rejects.toThrow(constraint);
  });

  it('has one unfinished job of an activity', async () => {
    for (const status of FINISHED) await jobIn(status);
    await jobIn('retry_wait');
    await expect(jobIn('queued')).rejects.toThrow('jobs_one_unfinished');
  });
});

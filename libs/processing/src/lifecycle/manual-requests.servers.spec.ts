import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, NotFound, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { complete, jobOf, LEASE_MS, newActivity } from '../processing.harness.js';
import { Jobs } from './jobs.js';
import { FORCED_RUNS_AN_HOUR, ManualRequests, TooManyForcedRuns } from './manual-requests.js';
import { Runs } from './runs.js';

describe('a request to process an activity again', () => {
  let open: OpenDatabase;
  let sql: Database;
  let replicas: ManualRequests[];
  let runs: Runs;
  let ann: string;
  let activity: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    runs = new Runs(sql);
    replicas = [1, 2].map(() => new ManualRequests(new Jobs(sql), sql, timeScale(1)));
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from athlete');
    ann = await newAthlete(sql);
    activity = await newActivity(sql, ann);
  });

  const request = (athleteId: string, activityId: string, n = 0) =>
    replicas[n % replicas.length]!.activity(athleteId, activityId);
  const finishAll = () =>
    sql.query(`update jobs set status = 'cancelled', finished_at_utc = now() where finished_at_utc is null`);
  const hasHad = (runs: number) =>
    sql.query('insert into forced_runs (athlete_id, began_at, runs) values ($1, now(), $2)', [ann, runs]);
  const jobsMade = async () =>
    (await sql.query('select 1 from jobs where activity_id = $1', [activity])).count;

  it('a request to process beyond the hourly limit is refused with the time to wait, and creates no job', async () => {
    await hasHad(FORCED_RUNS_AN_HOUR);
    const refused = await request(ann, activity).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(TooManyForcedRuns);
    const { code, retryAfterSeconds } = refused as TooManyForcedRuns;
    expect(code).toBe('PROCESSING_LIMIT');
    expect(retryAfterSeconds).toBeGreaterThan(3_000);
    expect(retryAfterSeconds).toBeLessThanOrEqual(3_600);
    expect(await jobsMade()).toBe(0);
  });

  it('two replicas that get requests to process at once grant exactly the limit', async () => {
    await hasHad(FORCED_RUNS_AN_HOUR - 5);
    const activities = await Promise.all(Array.from({ length: 12 }, () => newActivity(sql, ann)));
    const answers = await Promise.allSettled(activities.map((id, n) => request(ann, id, n)));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });

  it('a request to process an activity with an unfinished job returns that job and is not counted', async () => {
    await hasHad(FORCED_RUNS_AN_HOUR - 1);
    const first = await request(ann, activity);
    const again = await Promise.all([0, 1, 2, 3].map((n) => request(ann, activity, n)));
    expect(new Set(again.map(({ job_id }) => job_id))).toEqual(new Set([first.job_id]));
    await finishAll();
    await expect(request(ann, activity)).rejects.toThrow(TooManyForcedRuns);
    await expect(replicas[0]!.latest(ann)).rejects.toThrow(TooManyForcedRuns);
  });

  it('a request to process is counted each time it makes a waiting job due', async () => {
    await hasHad(FORCED_RUNS_AN_HOUR - 3);
    const { job_id } = await request(ann, activity);
    const wait = async () => {
      const [claim] = await runs.claim('me', 1, LEASE_MS);
      await runs.start('me', [claim!]);
      await complete(runs, 'me', claim!, { kind: 'waiting', waitsFor: 'streams', afterMs: 60_000 });
    };
    for (let n = 0; n < 2; n += 1) {
      await wait();
      expect((await request(ann, activity, n)).job_id).toBe(job_id);
    }
    await wait();
    await expect(request(ann, activity)).rejects.toThrow(TooManyForcedRuns);
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'retry_wait', waits_for: 'streams' });
    expect((await jobOf(sql, activity)).waits_ms).toBeGreaterThan(0);
  });

  it('requests to process are granted again after the hour, and to other athletes also during the hour', async () => {
    await hasHad(FORCED_RUNS_AN_HOUR);
    const ben = await newAthlete(sql);
    expect(await request(ben, await newActivity(sql, ben))).toMatchObject({ status: 'queued' });
    await sql.query(`update forced_runs set began_at = now() - interval '61 minutes' where athlete_id = $1`, [
      ann,
    ]);
    expect(await request(ann, activity)).toMatchObject({ status: 'queued' });
    const { rows } = await sql.query('select runs from forced_runs where athlete_id = $1', [ann]);
    expect(rows).toEqual([{ runs: 1 }]);
  });

  it('a request to process another athlete’s activity rejects with NotFound, also beyond the limit', async () => {
    await hasHad(FORCED_RUNS_AN_HOUR);
    const ben = await newAthlete(sql);
    await expect(request(ann, await newActivity(sql, ben))).rejects.toThrow(NotFound);
  });
});

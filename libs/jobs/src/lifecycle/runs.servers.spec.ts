import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  asker,
  complete,
  isProcessed,
  jobOf,
  LEASE_MS,
  newActivity,
  passTime,
  rejectedWrites,
  RETRY,
  runsOf,
  stateOf,
  SUCCEEDED,
} from '../jobs.harness.js';
import { Jobs } from './jobs.js';
import { type Claim } from './run.js';
import { Runs } from './runs.js';

const ME = 'me';

describe('runs', () => {
  let open: OpenDatabase;
  let sql: Database;
  let jobs: Jobs;
  let runs: Runs;
  let ann: string;
  let { automatic, forced, ask } = asker(undefined as unknown as Jobs, '');
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    jobs = new Jobs(sql);
    runs = new Runs(sql);
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from athlete');
    ann = await newAthlete(sql);
    ({ automatic, forced, ask } = asker(jobs, ann));
  });

  const activities = (count: number) =>
    Promise.all(Array.from({ length: count }, () => newActivity(sql, ann)));
  const claim = async (owner = ME): Promise<Claim> => {
    const [first] = await runs.claim(owner, 1, LEASE_MS);
    if (!first) throw new Error('nothing to claim');
    return first;
  };
  const begin = async (owner = ME) => {
    const claimed = await claim(owner);
    await runs.start(owner, [claimed]);
    return claimed;
  };

  it('are claimed by priority, then by age, and never more than asked for', async () => {
    const [old = '', young = '', urgent = ''] = await activities(3);
    await automatic(old);
    await automatic(young);
    await forced(urgent);
    const one = async () => (await claim()).activity_id;
    expect([await one(), await one(), await one()]).toEqual([urgent, old, young]);
    for (const activity of await activities(5)) await automatic(activity);
    expect(await runs.claim(ME, 3, LEASE_MS)).toHaveLength(3);
  });

  it('are claimed by one worker each, however many ask', async () => {
    const all = await activities(60);
    await jobs.enqueue({ athleteId: ann, activityIds: all, kind: 'auto_poll', requestedBy: 'test' });
    const pools = await Promise.all(Array.from({ length: 4 }, () => openPool(open.url)));
    const takeAll = async (mine: Runs, owner: string): Promise<string[]> => {
      const taken = await mine.claim(owner, 7, LEASE_MS);
      return taken.length === 0
        ? []
        : [...taken.map((one) => one.activity_id), ...(await takeAll(mine, owner))];
    };
    const taken = await Promise.all(
      pools.map(({ database }, n) => takeAll(new Runs(database), `worker ${n}`)),
    );
    expect(taken.flat().sort()).toEqual([...all].sort());
    await Promise.all(pools.map((pool) => pool.close()));
  });

  it('count as attempts from the claim on', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    await claim();
    expect(await jobOf(sql, activity)).toMatchObject({
      status: 'claimed',
      attempt_count: 1,
      lease_owner: ME,
    });
  });

  it('given back before they began are as if never claimed', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    const claimed = await claim();
    await runs.release(ME, [claimed]);
    expect(await jobOf(sql, activity)).toMatchObject({
      status: 'queued',
      attempt_count: 0,
      lease_owner: null,
    });
    expect(await runs.start(ME, [claimed])).toEqual([]);
    expect(await claim('another')).toMatchObject({ activity_id: activity });
  });

  it('end together, each in its own way', async () => {
    const all = await activities(3);
    for (const activity of all) await automatic(activity);
    const claims = await runs.claim(ME, 3, LEASE_MS);
    await runs.start(ME, claims);
    const of = (activity: string) => claims.find((one) => one.activity_id === activity)!;
    const [well = '', later = '', never = ''] = all;
    await runs.complete(ME, [
      { claim: of(well), ending: SUCCEEDED },
      { claim: of(later), ending: RETRY },
      { claim: of(never), ending: { kind: 'failed', error: 'hopeless' } },
    ]);
    expect(await jobOf(sql, well)).toMatchObject({ status: 'succeeded', last_result_json: { segments: [] } });
    expect(await jobOf(sql, later)).toMatchObject({ status: 'retry_wait', last_error: 'not now' });
    expect(await jobOf(sql, never)).toMatchObject({ status: 'failed_permanent', last_error: 'hopeless' });
    expect(await Promise.all(all.map((activity) => isProcessed(sql, activity)))).toEqual([
      true,
      false,
      false,
    ]);
    expect(await Promise.all(all.map((activity) => stateOf(sql, activity)))).toEqual([
      'succeeded',
      'retry_wait',
      'failed_permanent',
    ]);
    expect(await runsOf(sql, later)).toMatchObject([
      { status: 'retry_wait', error: 'not now', attempt_number: 1 },
    ]);
  });

  it('that fail wait, are claimed again when due, and fail for good when no attempt is left', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    for (const attempt of [1, 2]) {
      await complete(runs, ME, await begin(), RETRY);
      expect(await jobOf(sql, activity)).toMatchObject({ status: 'retry_wait', attempt_count: attempt });
      expect(await runs.claim(ME, 1, LEASE_MS)).toEqual([]);
      await passTime(sql, '1 minute');
    }
    await complete(runs, ME, await begin(), RETRY);
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'failed_permanent', last_error: 'not now' });
    expect(await runsOf(sql, activity)).toMatchObject([
      { status: 'retry_wait' },
      { status: 'retry_wait' },
      { status: 'failed_permanent' },
    ]);
  });

  it('that wait fail for good once their attempts were taken from them', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    await complete(runs, ME, await begin(), RETRY);
    await sql.query('update jobs set max_attempts = 1');
    await passTime(sql, '1 minute');
    expect(await runs.claim(ME, 1, LEASE_MS)).toEqual([]);
    await runs.requeueExpired();
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'failed_permanent', last_error: 'not now' });
    expect(await stateOf(sql, activity)).toBe('failed_permanent');
  });

  describe('whose lease has expired', () => {
    it('are queued again, and the dead run says why', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      await begin();
      await passTime(sql, '29 seconds');
      expect(await runs.requeueExpired()).toEqual([]);
      await passTime(sql, '1 second');
      expect(await runs.requeueExpired()).toMatchObject([{ activity_id: activity, status: 'queued' }]);
      expect(await jobOf(sql, activity)).toMatchObject({
        status: 'queued',
        attempt_count: 1,
        last_error: 'lease_expired',
      });
      expect(await runsOf(sql, activity)).toMatchObject([
        { status: 'failed_permanent', error: 'lease_expired' },
      ]);
    });

    it('are left alone where it was renewed', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      const run = await begin();
      await passTime(sql, '29 seconds');
      expect(await runs.renew(ME, [run], LEASE_MS)).toEqual(new Set([run.run_id]));
      await passTime(sql, '29 seconds');
      expect(await runs.requeueExpired()).toEqual([]);
    });

    it('fail for good when they were the last attempt, begun or only claimed', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      for (const attempt of [claim, begin, claim]) {
        await attempt();
        await passTime(sql, '1 minute');
        await runs.requeueExpired();
      }
      expect(await jobOf(sql, activity)).toMatchObject({
        status: 'failed_permanent',
        last_error: 'lease_expired',
      });
      expect(await stateOf(sql, activity)).toBe('failed_permanent');
    });

    it('are taken back once, however many sweep', async () => {
      for (const activity of await activities(20)) await automatic(activity);
      await runs.claim(ME, 20, LEASE_MS);
      await passTime(sql, '1 minute');
      const swept = await Promise.all(Array.from({ length: 5 }, () => runs.requeueExpired()));
      expect(swept.flat()).toHaveLength(20);
    });

    it('write nothing any more: not to the job, not to the activity, and it is counted', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      const zombie = await begin();
      await passTime(sql, '1 minute');
      await runs.requeueExpired();
      const before = await rejectedWrites();
      expect(await complete(runs, ME, zombie)).toBe(false);
      // The same worker again: its name alone is no right.
      const owner = await begin();
      expect(await complete(runs, ME, zombie)).toBe(false);
      expect(await runs.renew(ME, [zombie], LEASE_MS)).toEqual(new Set());
      expect(await runs.skip(ME, zombie)).toBe(false);
      expect(await rejectedWrites()).toBe(before + 2);
      expect(await isProcessed(sql, activity)).toBe(false);
      expect(await complete(runs, ME, owner)).toBe(true);
      expect(await complete(runs, ME, zombie, { kind: 'failed', error: 'too late' })).toBe(false);
      expect(await jobOf(sql, activity)).toMatchObject({
        status: 'succeeded',
        last_error: null,
        run_id: owner.run_id,
      });
      expect(await runsOf(sql, activity)).toMatchObject([
        { error: 'lease_expired' },
        { status: 'succeeded' },
      ]);
    });

    it('do not begin any more, nor under the name of another', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      const zombie = await claim();
      await passTime(sql, '1 minute');
      await runs.requeueExpired();
      const again = await claim();
      expect(await runs.start(ME, [zombie])).toEqual([]);
      expect(await runs.start('another', [again])).toEqual([]);
      expect(await runs.start(ME, [again])).toHaveLength(1);
    });
  });

  it('whose answer was lost are known to have ended', async () => {
    const [done = '', lost = ''] = await activities(2);
    await automatic(done);
    await automatic(lost);
    const mine = await begin();
    const gone = await begin();
    await complete(runs, ME, mine);
    await passTime(sql, '1 minute');
    await runs.requeueExpired();
    expect(await runs.hasEnded(ME, [mine, gone])).toEqual(new Set([mine.run_id]));
  });

  it('of what has been processed are passed over, unless somebody has forced it by then', async () => {
    const [activity = ''] = await activities(1);
    await forced(activity);
    await complete(runs, ME, await begin());
    await ask(activity, { force: true });
    await sql.query('update jobs set force_update = false');
    const run = await begin();
    await forced(activity);
    expect(await runs.skip(ME, run)).toBe(false);
    await sql.query('update jobs set force_update = false');
    expect(await runs.skip(ME, run)).toBe(true);
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'succeeded' });
    expect((await jobs.stateOf(ann, activity))?.result).toEqual({ segments: [] });
  });

  it('end while their activity is being deleted, without a deadlock', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    const run = await begin();
    const deleting = sql.query('delete from activity where id = $1', [activity]);
    await Promise.all([deleting, complete(runs, ME, run)]);
    expect(await stateOf(sql, activity)).toBeUndefined();
  });
});

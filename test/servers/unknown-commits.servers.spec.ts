import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { Changes, Database, DependencyUnavailable, poolOf } from '#platform';
import { Jobs, Runs } from '#processing';
import { ActivityStore } from '../../libs/activities/src/activity-store.js';
import { anActivity, atStrava } from '../../libs/activities/src/activities.harness.js';
import { ImportJobs } from '../../libs/activities/src/imports/import-jobs.js';
import { dataSourceOptions } from '../../libs/platform/src/database/data-source-options.js';
import {
  LEASE_MS,
  newActivity,
  requestsOf,
  SUCCEEDED,
} from '../../libs/processing/src/processing.harness.js';
import { Ledger } from '../../libs/rate-limit/src/ledger.js';
import { newAthlete } from '../harness/athletes.js';
import { Proxy } from '../harness/proxy.js';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';

const ME = 'me';
const LIMITS = { applicationName: 'test', poolSize: 2, statementTimeoutMs: 5_000 };

// Each test breaks the connection after the commit was sent and before its answer. The caller does not know whether it has happened, and
// does what the product does then: the same again.
describe('a write whose commit is unknown', () => {
  let open: OpenDatabase;
  let proxy: Proxy;
  let dataSource: DataSource;
  /** Through the proxy. */
  let database: Database;
  let athleteId: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    proxy = await Proxy.before(open.url);
    dataSource = await new DataSource(dataSourceOptions(proxy.url, LIMITS, () => undefined)).initialize();
    database = new Database(poolOf(dataSource));
  });
  afterAll(async () => {
    await dataSource.destroy();
    await proxy.close();
    await open.close();
  });
  beforeEach(async () => {
    athleteId = await newAthlete(open.database);
  });

  /** Loses the answer to the first statement that contains `text`, and repeats the work. */
  async function repeated<T>(text: string, work: () => Promise<T>): Promise<T> {
    const before = proxy.cutAnswers;
    proxy.cutAfter(text);
    await expect(work()).rejects.toBeInstanceOf(DependencyUnavailable);
    expect(proxy.cutAnswers).toBe(before + 1);
    return work();
  }
  const count = async (statement: string, values: readonly unknown[] = [athleteId]) =>
    (await open.database.query<{ n: number }>(`select count(*)::int as n from ${statement}`, values)).rows[0]
      ?.n;

  it('an import that is requested again is the same import', async () => {
    const jobs = new ImportJobs(database);
    const begun = await repeated('commit', () =>
      database.transaction((sql) => jobs.createOrFind(atStrava(athleteId), 'full', null, { sql })),
    );
    expect(begun.isNew).toBe(false);
    expect(await count('import_jobs where athlete_id = $1')).toBe(1);
  });

  it('a page of activities that is stored again makes no second rows and no second changes', async () => {
    const page = [anActivity({ id: '1' }), anActivity({ id: '2' })];
    const askedAt = new Date();
    await repeated('commit', () =>
      database.transaction((sql) =>
        new ActivityStore().saveSummaries(sql, atStrava(athleteId), page, askedAt),
      ),
    );
    expect(await count('activity where athlete_id = $1')).toBe(2);
    expect(await count('change_outbox where athlete_id = $1')).toBe(2);
  });

  it('changes that are sequenced again have one place in the log each', async () => {
    const changes = new Changes(database);
    await changes.sequence();
    await open.database.query(
      `insert into change_outbox (type, athlete_id, subject_id) select 'activity.deleted', $1, n from generate_series(1, 5) as n`,
      [athleteId],
    );
    await repeated('commit', () => changes.sequence());
    expect(await count('change where athlete_id = $1')).toBe(5);
    expect(await count('(select from change group by seq having count(*) > 1) as doubled', [])).toBe(0);
    expect(await count('change_feed where last_seq = (select max(seq) from change)', [])).toBe(1);
    expect(await count('(select id from change group by id having count(*) > 1) as doubled', [])).toBe(0);
  });

  it('a run that is completed again has one result, and its worker is told that it has ended', async () => {
    const activity = await newActivity(open.database, athleteId);
    await requestsOf(new Jobs(open.database), athleteId).forced(activity);
    const runs = new Runs(database);
    const claims = await runs.claim(ME, 1, LEASE_MS);
    await runs.start(ME, claims);
    const ended = claims.map((claim) => ({ claim, outcome: SUCCEEDED }));
    const again = await repeated('complete:', () => runs.complete(ME, ended));
    expect([...again]).toEqual([]);
    expect([...(await runs.hasEnded(ME, claims))]).toEqual(claims.map(({ run_id }) => run_id));
    expect(
      await count("runs join jobs using (job_id) where jobs.activity_id = $1 and runs.status = 'succeeded'", [
        activity,
      ]),
    ).toBe(1);
    expect(
      await count("change_outbox where subject_id = $1 and type = 'activity.processed'", [activity]),
    ).toBe(1);
  });

  it('claims whose answer was lost are held until their lease ends, and no other worker gets them', async () => {
    const activity = await newActivity(open.database, athleteId);
    await requestsOf(new Jobs(open.database), athleteId).forced(activity);
    const runs = new Runs(database);
    const claims = await repeated('claim:', () => runs.claim(ME, 10, LEASE_MS));
    expect(claims.filter(({ activity_id }) => activity_id === activity)).toEqual([]);
    expect(await count("jobs where activity_id = $1 and status = 'claimed'", [activity])).toBe(1);
  });

  it('a call whose row may be in the ledger is counted and not made', async () => {
    const ledger = new Ledger(database, 'strava');
    const entry = { userId: athleteId, endpoint: 'activity', class: 'live', windowId: 1, dayId: 1 } as const;
    await repeated('record-call', () => ledger.record(entry, 0));
    // Two rows for the one call that is made: the budget counts too much for once, and never too little.
    expect(await count('strava_api_requests where user_id = $1')).toBe(2);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { loadSql } from '#platform';
import { newAthlete } from '../../../test/harness/athletes.js';
import { aPermit, call, BudgetWorkers, granted } from './budget.harness.js';
import { Budgets } from './budgets.js';
import { CallRecords } from './personal-records.js';

const YEARS = 50;
const DAY_MS = 86_400_000;

describe('the ledger', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  beforeEach(() => workers.resetLedger());
  afterAll(() => workers.end());

  const write = (count: number, daysAgo: number, status = 200, callClass = 'import') =>
    workers.database.query(
      `insert into strava_api_requests (endpoint, class, window_id, day_id, status, requested_at)
       select 'activity', $3, 1000 + n / 100, 1000 + n / 1000, $4, now() - make_interval(secs => $2::float8 * 86400)
       from generate_series(1, $1) as n`,
      [count, daysAgo, callClass, status],
    );
  const left = async () => (await workers.database.query('select from strava_api_requests')).count;

  it('purge deletes the ledger’s calls older than its retention, in several batches', async () => {
    await write(12_000, 7.01);
    await write(10, 6.99);
    const { budget } = await workers.start();
    expect(await budget.purge(7 * DAY_MS)).toBe(12_000);
    expect(await left()).toBe(10);
    expect(await budget.purge(7 * DAY_MS)).toBe(0);
  });

  it('usage has the share of the last 24 hours’ calls that were answered 429, and each class’s calls and reserve', async () => {
    await write(3, 1.1, 429);
    await write(4, 0.5);
    await write(2, 0.5, 429);
    await write(1, 0.5, 429, 'live');
    const { budget } = await workers.start();
    await budget.settle(await aPermit(budget, 'live'), 200, []);
    const { refusedShare, counters } = await budget.usage();
    expect(refusedShare).toBeCloseTo(3 / 8);
    const [first] = counters;
    expect(first).toMatchObject({ used: 1, limit: expect.any(Number), remaining: expect.any(Number) });
    expect(first!.classes.map(({ class: name, used }) => [name, used])).toEqual([
      ['live', 1],
      ['import', 0],
      ['backfill', 0],
    ]);
    const reserves = first!.classes.map(({ reserve }) => reserve);
    expect(reserves[0]).toBe(0);
    expect(reserves[2]).toBeGreaterThan(0);
  });

  it('an athlete has open calls until each permit is answered, given back or two seconds old', async () => {
    const userId = await newAthlete(workers.database);
    const { budget } = await workers.start();
    const records = new CallRecords(workers.database, new Budgets([budget]));
    const ask = () => budget.requestPermit(call('import', { userId }));
    const isOpen = (provider: string | null = 'strava') => records.hasOpenCalls(userId, provider);
    expect(await isOpen()).toBe(false);

    const [answered, unused, lost] = granted([await ask(), await ask(), await ask()]);
    expect([await isOpen(), await isOpen(null), await isOpen('oura')]).toEqual([true, true, false]);
    expect(await records.hasOpenCalls(await newAthlete(workers.database), null)).toBe(false);
    await budget.settle(answered!, 200, []);
    await budget.giveBack(unused!);
    expect(await isOpen()).toBe(true);
    const older =
      "update strava_api_requests set requested_at = requested_at - interval '2 seconds' where id = $1";
    await workers.database.query(older, [lost!.ledgerId]);
    expect(await isOpen()).toBe(false);
  });

  it('the ledger’s counts, traffic and purge use indices at 200,000 rows', async () => {
    await write(200_000, 3);
    await write(1_000, 0.5);
    await workers.database.query('analyze strava_api_requests');
    const plan = async (file: string, values: readonly unknown[]) => {
      const { text } = loadSql(import.meta.url, file);
      const explained = await workers.database.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, costs off, timing off) ${text}`,
        values,
      );
      return explained.rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    const counting = await plan('./sql/count-calls.sql', [[1_077], [1_007], Date.now(), DAY_MS]);
    expect(counting).toContain('strava_api_requests_window');
    expect(counting).toContain('strava_api_requests_day');
    expect(counting).toContain('strava_api_requests_closed');
    expect(counting).not.toContain('Seq Scan');
    expect(await plan('./sql/count-traffic.sql', [DAY_MS / 1_000, 1_077, 1_007])).not.toContain('Seq Scan');
    expect(await plan('./sql/purge-calls.sql', [YEARS * 365 * 86_400, 100])).not.toContain('Seq Scan');
  });

  it('settle succeeds and no permit is given while the ledger’s Postgres is away', async () => {
    const { budget } = await workers.start();
    const permit = await aPermit(budget);
    const gone = await BudgetWorkers.begin();
    const { budget: cutOff } = await gone.start();
    await gone.end();
    expect(await cutOff.settle(permit, 200, [])).toBeUndefined();
    expect(await cutOff.requestPermit(call('live'))).toEqual({ kind: 'unavailable' });
  });
});

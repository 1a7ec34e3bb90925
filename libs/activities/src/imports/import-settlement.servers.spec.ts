import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, fenceRejected, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type BatchOutcome } from './import-batch.js';
import { type ImportForecast } from './import-forecast.js';
import { type ImportClaim, type ImportJob } from './import-job.js';
import { ImportJobs } from './import-jobs.js';
import { viewOf } from './import-view.js';
import { ImportSettlement } from './import-settlement.js';
import { type ImportTicks } from './import-ticks.js';
import { atStrava, importChangesIn } from '../activities.harness.js';

const LEASE_MS = 60_000;

const ETA = new Date('2030-01-01T00:00:00Z');

describe('the settlement of a batch', () => {
  let open: OpenDatabase;
  let jobs: ImportJobs;
  let settlement: ImportSettlement;
  const ticks: string[] = [];
  beforeAll(async () => {
    open = await openTestDatabase();
    jobs = new ImportJobs(open.database);
    const queue: Pick<ImportTicks, 'next' | 'later'> = {
      next: (id) => Promise.resolve(void ticks.push(id)),
      later: (id) => Promise.resolve(void ticks.push(id)),
    };
    const logger = createLogger({ level: 'silent', process: 'test' });
    const changes = importChangesIn(open.database);
    const forecast = { etaOf: () => Promise.resolve(ETA) } as object as ImportForecast;
    const parts = [jobs, queue as ImportTicks, changes, forecast, open.database] as const;
    settlement = new ImportSettlement(...parts, timeScale(1), logger);
  });
  afterAll(() => open.close());

  async function begun(): Promise<ImportClaim> {
    const { job } = await jobs.createOrFind(atStrava(await newAthlete(open.database)), 'full', null);
    return (await jobs.claim(job.id, '0', LEASE_MS)) as ImportClaim;
  }

  const announced = async (id: string) =>
    (
      await open.database.query<{ type: string; data: object }>(
        'select type, data from change_outbox where subject_id = $1',
        [id],
      )
    ).rows;

  const outcomes: ReadonlyArray<readonly [string, BatchOutcome, number]> = [
    ['release', { kind: 'more' }, 0],
    ['pause for the window', { kind: 'notNow', retryAfterMs: 60_000 }, 0],
    ['pause for the budget', { kind: 'budgetUnavailable' }, 0],
    ['pause for the next item', { kind: 'waiting', forMs: 60_000 }, 0],
    ['pause after an outage', { kind: 'outage', error: 'away' }, 0],
    ['failure', { kind: 'failed', error: 'revoked' }, 0],
    ['pause after an unexpected error', { kind: 'accident', error: 'status 400' }, 0],
    ['failure after the fifth unexpected error', { kind: 'accident', error: 'status 400' }, 4],
  ];

  it.each(outcomes)(
    'the %s of an import changes nothing, counts and queues no tick if another worker has claimed it since',
    async (_, outcome, accidents) => {
      const frozen = await begun();
      const { id } = frozen;
      await open.database.query('update import_jobs set leased_until = now() where id = $1', [id]);
      await jobs.claim(id, frozen.fence, LEASE_MS);
      const row = () => jobs.find(frozen.athlete_id, id);
      const claimed = await row();
      fenceRejected.reset();
      expect(await settlement.settle({ ...frozen, accidents }, outcome)).toBe(false);
      expect(await row()).toEqual(claimed);
      expect(ticks).not.toContain(id);
      expect(await announced(id)).toEqual([]);
      expect((await fenceRejected.get()).values).toMatchObject([{ labels: { kind: 'import' }, value: 1 }]);
    },
  );

  it.each([
    ['a wait for the vendor’s window', { kind: 'notNow', retryAfterMs: 60_000 }, 'rate_limited'],
    ['a failure', { kind: 'failed', error: 'revoked' }, 'failed'],
  ] as const)('%s of an import is announced as the API shows the import', async (_, outcome, status) => {
    const claim = await begun();
    await settlement.settle(claim, outcome);
    const job = (await jobs.find(claim.athlete_id, claim.id)) as ImportJob;
    const eta = status === 'rate_limited' ? ETA : null;
    const view = JSON.parse(JSON.stringify(viewOf(job, eta, new Date(), 'whole'))) as object;
    expect(await announced(claim.id)).toEqual([{ type: `import.${status}`, data: view }]);
  });

  it.each(outcomes)('the %s of an import succeeds under its lease', async (_, outcome, accidents) => {
    expect(await settlement.settle({ ...(await begun()), accidents }, outcome)).toBe(true);
  });

  it('the row of an import names the unexpected error, also when the fifth in a row fails the import', async () => {
    for (const accidents of [0, 4]) {
      const claim = { ...(await begun()), accidents };
      await settlement.settle(claim, { kind: 'accident', error: 'Strava answered 400' });
      expect(await jobs.find(claim.athlete_id, claim.id)).toMatchObject({ error: 'Strava answered 400' });
    }
  });
});

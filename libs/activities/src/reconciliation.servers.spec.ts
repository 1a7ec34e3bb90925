import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Athletes } from '#connections';
import { type Config, createLogger, type Sweeps, timeScale } from '#platform';
import { StravaNotFound, StravaRateLimited, type StravaClient, type SummaryActivity } from '#strava';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { anActivity } from './activities.harness.js';
import { ActivityStore } from './activity-store.js';
import { ImportJobs } from './imports/import-jobs.js';
import { type ImportTicks } from './imports/import-ticks.js';
import { Reconciliation } from './reconciliation.js';

const NOW_MS = Date.parse('2026-11-18T12:00:00Z');
const HOUR_MS = 3_600_000;

describe('a comparison with the list of the vendor', () => {
  let open: OpenDatabase;
  let athleteId: string;
  /** What Strava has, newest first, and what it was asked. */
  let history: SummaryActivity[];
  let asked: string[];
  let budget: number;
  const store = new ActivityStore();
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());

  beforeEach(async () => {
    athleteId = await newAthlete(open.database);
    history = Array.from({ length: 450 }, (_, n) =>
      anActivity({ id: `${n + 1}`, startTime: new Date(NOW_MS - (n + 1) * HOUR_MS) }),
    );
    asked = [];
    budget = Infinity;
    await store.saveSummaries(open.database, athleteId, history, new Date(0));
    await open.database.query(`update activity set detail_status = 'stored', detail_stored_at = now()`);
    await open.database.query(
      `insert into connection
         (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
       values ($1, 'strava', $2, '{}', '', '', 1, now())`,
      [athleteId, athleteId],
    );
    await open.database.query(
      `insert into strava_sync (athlete_id, last_strava_sync_at) values ($1, now() - interval '8 days')`,
      [athleteId],
    );
  });

  const ask = <T>(what: string, answer: () => T): Promise<T> => {
    if (asked.length >= budget) return Promise.reject(new StravaRateLimited('read 15min', 1_000, NOW_MS));
    asked.push(what);
    return Promise.resolve().then(answer);
  };

  function reconciliation(): Reconciliation {
    const strava: Pick<StravaClient, 'listActivities' | 'activity'> = {
      listActivities: (_, { before = new Date(NOW_MS), perPage }) =>
        ask('list', () => history.filter(({ startTime }) => startTime < before).slice(0, perPage)),
      activity: (_, id) =>
        ask(id, () => {
          throw new StravaNotFound();
        }),
    };
    return new Reconciliation(
      strava as StravaClient,
      new Athletes(open.database),
      store,
      new ImportJobs(open.database),
      { next: () => Promise.resolve() } as unknown as ImportTicks,
      open.database,
      { nowMs: () => NOW_MS },
      {} as Sweeps,
      { strava: {} } as Config,
      timeScale(1),
      createLogger({ level: 'silent', process: 'test' }),
    );
  }

  const endLease = () => open.database.query('update strava_sync set reconcile_after = now()');

  async function counts(): Promise<{ activities: number; isDone: boolean }> {
    const { count } = await open.database.query('select 1 from activity where athlete_id = $1', [athleteId]);
    const { rows } = await open.database.query<{ done: boolean }>(
      'select reconciled_at is not null and reconcile_progress is null as done from strava_sync where athlete_id = $1',
      [athleteId],
    );
    return { activities: count, isDone: rows[0]?.done ?? false };
  }

  it('asks for what the list lacks, and removes what is gone', async () => {
    history = history.filter(({ id }) => id !== '7' && id !== '300');
    await reconciliation().runOnce();
    expect(asked).toEqual(['list', 'list', 'list', '7', '300']);
    expect(await counts()).toEqual({ activities: 448, isDone: true });
  });

  it('goes on where it was cut short, whichever call was refused', async () => {
    history = history.filter(({ id }) => id !== '7' && id !== '300');
    for (budget = 0; budget < 6; budget += 1) {
      await reconciliation().runOnce();
      await endLease();
    }
    expect(asked).toEqual(['list', 'list', 'list', '7', '300']);
    expect(await counts()).toEqual({ activities: 448, isDone: true });
  });

  it('is left alone for a while then', async () => {
    budget = 1;
    await reconciliation().runOnce();
    budget = Infinity;
    await reconciliation().runOnce();
    expect(asked).toEqual(['list']);
  });
});

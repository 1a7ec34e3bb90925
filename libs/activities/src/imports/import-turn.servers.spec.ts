import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Athletes } from '#connections';
import { timeScale } from '#platform';
import { StravaAnswerMalformed, StravaNotFound } from '#strava';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { anActivity } from '../activities.harness.js';
import { ActivityStore } from '../activity-store.js';
import { type Turn } from './import-job.js';
import { ImportJobs } from './import-jobs.js';
import { ImportNews } from './import-news.js';
import { type ImportParts, ImportTurn } from './import-turn.js';

const LEASE_MS = 60_000;

describe('a turn of an import', () => {
  let open: OpenDatabase;
  let jobs: ImportJobs;
  beforeAll(async () => {
    open = await openTestDatabase();
    jobs = new ImportJobs(open.database);
  });
  afterAll(() => open.close());

  async function begun(): Promise<Turn> {
    const { job } = await jobs.createOrFind(await newAthlete(open.database), 'full', null);
    return (await jobs.claim(job.id, 0, LEASE_MS)) as Turn;
  }

  /** Strava, and what else happens before its answer arrives. */
  function parts(strava: Partial<ImportParts['strava']>, meanwhile: () => Promise<unknown>): ImportParts {
    const late = <T>(answer: () => T) => meanwhile().then(answer);
    return {
      strava: {
        listActivities: (who, listing) => late(() => strava.listActivities?.(who, listing) ?? []),
        activity: (who, id) =>
          late(() => strava.activity?.(who, id) ?? anActivity({ id, totalPhotoCount: 1 })),
        photos: (who, id) => late(() => strava.photos?.(who, id) ?? []),
      } as ImportParts['strava'],
      athletes: new Athletes(open.database),
      store: new ActivityStore(),
      database: open.database,
      clock: { nowMs: () => Date.now() },
      scale: timeScale(1),
      jobs,
      news: new ImportNews(),
    };
  }

  const run = (turn: Turn, made: ImportParts) =>
    new ImportTurn(made, turn, new AbortController().signal, () => false).run();

  const rowsOf = async ({ athlete_id }: Turn) =>
    (
      await open.database.query<{ detail_status: string; detail_attempts: number; photos_status: string }>(
        'select detail_status, detail_attempts, photos_status from activity where athlete_id = $1',
        [athlete_id],
      )
    ).rows;

  const page = [anActivity({ id: '1', totalPhotoCount: 1 })];
  const listed = { listActivities: () => Promise.resolve(page) };
  const nothing = () => Promise.resolve();

  it('stores a history, its details and its photos', async () => {
    const turn = await begun();
    expect(await run(turn, parts(listed, nothing))).toEqual({ kind: 'over' });
    expect(await rowsOf(turn)).toMatchObject([{ detail_status: 'stored', photos_status: 'stored' }]);
  });

  const lost: ReadonlyArray<readonly [string, (turn: Turn) => Promise<unknown>]> = [
    ['was cancelled', ({ athlete_id, id }) => jobs.cancel(athlete_id, id)],
    [
      "is another worker's by now",
      async ({ id, turn }) => {
        await open.database.query('update import_jobs set leased_until = now() where id = $1', [id]);
        await jobs.claim(id, turn, LEASE_MS);
      },
    ],
  ];

  it.each(lost)('stores nothing of a page that arrives when it %s', async (_, lose) => {
    const turn = await begun();
    expect(
      await run(
        turn,
        parts(listed, () => lose(turn)),
      ),
    ).toEqual({ kind: 'over' });
    expect(await rowsOf(turn)).toEqual([]);
  });

  const answers: ReadonlyArray<readonly [string, Partial<ImportParts['strava']>]> = [
    ['a detail', {}],
    ['a refusal', { activity: () => Promise.reject(new StravaNotFound()) }],
    ['nonsense', { activity: () => Promise.reject(new StravaAnswerMalformed('odd')) }],
  ];

  it.each(answers)('takes no note of %s that arrives when it is over', async (_, strava) => {
    const turn = await begun();
    const made = parts(strava, () => jobs.cancel(turn.athlete_id, turn.id));
    const sync_cursor = { ...turn.sync_cursor, phase: 'details' } as const;
    await made.store.saveSummaries(open.database, turn.athlete_id, page, new Date(0));
    expect(await run({ ...turn, sync_cursor }, made)).toEqual({ kind: 'over' });
    expect(await rowsOf(turn)).toEqual([
      { detail_status: 'pending', detail_attempts: 0, photos_status: 'pending' },
    ]);
  });
});

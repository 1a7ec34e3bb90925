import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Athletes } from '#connections';
import { createLogger, timeScale } from '#platform';
import { type Aspect, type DetailedActivity, ok } from '#vendors';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import {
  activityEvents,
  anActivity,
  atStrava,
  eventOf,
  importChangesIn,
  listed,
  STRAVAS_LIST,
} from './activities.harness.js';
import { ActivityStore } from './activity-store.js';
import { type ImportClaim } from './imports/import-job.js';
import { ImportJobs } from './imports/import-jobs.js';
import { ImportNews } from './imports/import-news.js';
import { ImportBatch, type ImportParts } from './imports/import-batch.js';
import { HistoryRows } from './reconcile/history-rows.js';

const APART_MS = 10_000;
const NOT_DATE = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

describe('two workers whose clocks are ten seconds apart', () => {
  let open: OpenDatabase;
  let owner: { readonly athleteId: string; readonly generation: number };
  /** The present activities at Strava. */
  let history: DetailedActivity[];
  const store = new ActivityStore();
  const logger = createLogger({ level: 'silent', process: 'test' });
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());
  afterEach(() => void jest.useRealTimers());
  beforeEach(async () => {
    const athleteId = await newAthlete(open.database);
    const generation = await new Athletes(open.database).generationOf(athleteId);
    owner = { athleteId, generation };
    history = [anActivity({ id: '1', name: 'before' })];
  });

  const source: ImportParts['source'] = {
    ...STRAVAS_LIST,
    list: (_, listing) => Promise.resolve(ok(listed(history, listing))),
    activity: (_, id) => {
      const found = history.find((one) => one.id === id);
      return Promise.resolve(found ? ok(found) : { kind: 'gone', reason: 'Strava has no such activity' });
    },
    photos: () => Promise.resolve(ok([])),
  };

  /** Runs `work` in a process whose clock is wrong by `aheadMs`. */
  async function on<T>(aheadMs: number, work: () => Promise<T>): Promise<T> {
    jest.useFakeTimers({ now: Date.now() + aheadMs, doNotFake: [...NOT_DATE] });
    try {
      return await work();
    } finally {
      jest.useRealTimers();
    }
  }

  async function importBy(aheadMs: number): Promise<void> {
    const jobs = new ImportJobs(open.database);
    const { job } = await jobs.createOrFind(atStrava(owner.athleteId), 'full', null);
    const claim = (await jobs.claim(job.id, '0', 60_000)) as ImportClaim;
    const parts = {
      source,
      athletes: new Athletes(open.database),
      store,
      database: open.database,
      jobs,
      scale: timeScale(1),
      news: new ImportNews(logger),
      changes: importChangesIn(open.database),
    };
    const made = new ImportBatch(parts, claim, new AbortController().signal, () => false);
    expect(await on(aheadMs, () => made.run())).toEqual({ kind: 'over' });
  }

  async function handledBy(aheadMs: number, aspect: Aspect, outcome: string): Promise<void> {
    const group = eventOf(aspect, '1', await open.database.now());
    const handle = () => activityEvents(open.database, source).handle({ ...owner, connectedAt: '' }, group);
    expect(await on(aheadMs, handle)).toEqual({ kind: 'done', outcome });
  }

  const changedBy = (aheadMs: number) => handledBy(aheadMs, 'update', 'applied');

  async function deletedBy(aheadMs: number): Promise<void> {
    const kept = history;
    history = [];
    await handledBy(aheadMs, 'delete', 'deleted');
    history = kept;
  }

  const names = async () => {
    const statement = 'select name from activity where athlete_id = $1 order by name';
    const { rows } = await open.database.query<{ name: string }>(statement, [owner.athleteId]);
    return rows.map(({ name }) => name);
  };

  it.each([
    [APART_MS, -APART_MS],
    [-APART_MS, APART_MS],
  ])(
    'an edit after an import by a worker whose clock is %i ms off is stored by a worker %i ms off',
    async (one, other) => {
      await importBy(one);
      history = [anActivity({ id: '1', name: 'after' })];
      await changedBy(other);
      expect(await names()).toEqual(['after']);
    },
  );

  it.each([
    [APART_MS, -APART_MS],
    [-APART_MS, APART_MS],
  ])(
    'a list of a worker whose clock is %i ms off replaces the older name stored by a worker %i ms off',
    async (one, other) => {
      await changedBy(other);
      history = [anActivity({ id: '1', name: 'after' })];
      await importBy(one);
      expect(await names()).toEqual(['after']);
    },
  );

  it.each([
    [APART_MS, -APART_MS],
    [-APART_MS, APART_MS],
  ])(
    'an activity removed by a worker whose clock is %i ms off comes back with the list of a worker %i ms off',
    async (one, other) => {
      await changedBy(other);
      await deletedBy(one);
      expect(await names()).toEqual([]);
      await importBy(other);
      expect(await names()).toEqual(['before']);
    },
  );

  it.each([APART_MS, -APART_MS])(
    'a worker whose clock is %i ms off does not count an activity as missing that another worker has listed',
    async (aheadMs) => {
      const rows = new HistoryRows(open.database, timeScale(1));
      await open.database.query(
        `insert into connection
           (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
         values ($1, 'strava', $2, '{}', '', '', 1, now())`,
        [owner.athleteId, owner.athleteId],
      );
      const statement = `insert into activity_sync (athlete_id, provider, last_sync_at) values ($1, 'strava', now() - interval '8 days')`;
      await open.database.query(statement, [owner.athleteId]);
      const progress = await on(aheadMs, async () => {
        const due = await rows.claim('strava', 'each change', 60_000);
        return due && rows.beginning(due);
      });
      await importBy(-aheadMs);
      expect(progress && (await rows.missing(atStrava(owner.athleteId), null, progress))).toEqual([]);
    },
  );
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Athletes } from '#connections';
import { createLogger, fenceRejected, type Sql, timeScale } from '#platform';
import { type CallFailure, ok } from '#vendors';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  anActivity,
  importChangesIn,
  listed,
  type ListedActivity,
  atStrava,
  STRAVAS_LIST,
} from '../activities.harness.js';
import { ActivityStore } from '../activity-store.js';
import { PAGE } from '../list-position.js';
import { type ImportClaim } from './import-job.js';
import { ImportJobs } from './import-jobs.js';
import { ImportNews } from './import-news.js';
import { type ImportParts, ImportBatch } from './import-batch.js';

const LEASE_MS = 60_000;
const HOUR_MS = 3_600_000;
const GONE: CallFailure = { kind: 'gone', reason: '404' };
const MALFORMED: CallFailure = { kind: 'broken', because: 'malformed', reason: 'odd' };
const REFUSED: CallFailure = { kind: 'refused', status: 400, reason: 'Strava answered 400' };
const READ_ONLY = ['read', 'activity:read'];
const READ_ALL = ['read', 'activity:read', 'activity:read_all'];

describe('a batch of an import', () => {
  let open: OpenDatabase;
  let jobs: ImportJobs;
  beforeAll(async () => {
    open = await openTestDatabase();
    jobs = new ImportJobs(open.database);
  });
  afterAll(() => open.close());

  async function begun(
    scopes: readonly string[] = READ_ALL,
    since: Date | null = null,
  ): Promise<ImportClaim> {
    const athleteId = await newAthlete(open.database);
    await open.database.query(
      `insert into connection
         (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
       values ($1, 'strava', $2, $3, '', '', 1, now())`,
      [athleteId, athleteId, scopes],
    );
    const { job } = await jobs.createOrFind(atStrava(athleteId), 'full', since);
    return (await jobs.claim(job.id, '0', LEASE_MS)) as ImportClaim;
  }

  /** `meanwhile` runs between each request to Strava and its answer. */
  function parts(
    source: Partial<ImportParts['source']>,
    meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  ): ImportParts {
    return {
      source: {
        ...STRAVAS_LIST,
        list: async (context, listing) => {
          await meanwhile();
          return source.list ? source.list(context, listing) : ok(listed([], listing));
        },
        activity: async (context, id) => {
          await meanwhile();
          return source.activity ? source.activity(context, id) : ok(anActivity({ id, totalPhotoCount: 1 }));
        },
        photos: async (context, id) => {
          await meanwhile();
          return source.photos ? source.photos(context, id) : ok([]);
        },
      },
      athletes: new Athletes(open.database),
      store: new ActivityStore(),
      database: open.database,
      scale: timeScale(1),
      jobs,
      news: new ImportNews(createLogger({ level: 'silent', process: 'test' })),
      changes: importChangesIn(open.database),
    };
  }

  const run = (claim: ImportClaim, made: ImportParts) =>
    new ImportBatch(made, claim, new AbortController().signal, () => false).run();

  const rowsOf = async ({ athlete_id }: ImportClaim) =>
    (
      await open.database.query<{ detail_status: string; detail_attempts: number; photos_status: string }>(
        'select detail_status, detail_attempts, photos_status from activity where athlete_id = $1',
        [athlete_id],
      )
    ).rows;

  const page = [anActivity({ id: '1', totalPhotoCount: 1 })];
  const one: Partial<ImportParts['source']> = {
    list: (_, listing) => Promise.resolve(ok(listed(page, listing))),
  };

  it('an import stores the summaries, details and photos of a history', async () => {
    const claim = await begun();
    expect(await run(claim, parts(one))).toEqual({ kind: 'over' });
    expect(await rowsOf(claim)).toMatchObject([{ detail_status: 'stored', photos_status: 'stored' }]);
  });

  it('an import makes one call for all activities whose details are in the list, and one more for each other activity', async () => {
    const calls: string[] = [];
    const history = ['1', '2', '3'].map((id) => anActivity({ id, description: 'from the list' }));
    const source: Partial<ImportParts['source']> = {
      list: (_, listing) => {
        calls.push('list');
        return Promise.resolve(ok({ ...listed(history, listing), details: history.slice(1) }));
      },
      activity: (_, id) => {
        calls.push(id);
        return Promise.resolve(ok(anActivity({ id })));
      },
    };
    const claim = await begun();
    expect(
      await run(claim, {
        ...parts(source),
        source: { ...parts(source).source, history: 'since connection' },
      }),
    ).toEqual({
      kind: 'over',
    });
    expect(calls).toEqual(['list', '1']);
    expect(await jobs.find(claim.athlete_id, claim.id)).toMatchObject({
      status: 'completed',
      activities_total: 3,
      sync_cursor: { activities_imported: 3 },
    });
    const descriptions = `select array_agg(description order by external_activity_id) as all from activity where athlete_id = $1`;
    expect((await open.database.query(descriptions, [claim.athlete_id])).rows).toEqual([
      { all: ['easy', 'from the list', 'from the list'] },
    ]);
  });

  it.each<[string, Partial<ImportParts['source']>]>([
    ['list', { list: () => Promise.resolve(REFUSED) }],
    ['activity', { ...one, activity: () => Promise.resolve(REFUSED) }],
    ['photos', { ...one, photos: () => Promise.resolve(REFUSED) }],
  ])('a batch ends with the reason if Strava refuses its request for the %s', async (_, source) => {
    expect(await run(await begun(), parts(source))).toEqual({ kind: 'accident', error: REFUSED.reason });
  });

  it('an import requests an activity three times if the answers are about another activity, and then completes without it', async () => {
    let calls = 0;
    const made = parts({
      ...one,
      activity: () => {
        calls += 1;
        return Promise.resolve(ok(anActivity({ id: '2' })));
      },
    });
    let claim = await begun();
    expect([(await run(claim, made)).kind, calls]).toEqual(['waiting', 1]);
    for (const [tries, kind] of [
      [2, 'waiting'],
      [3, 'over'],
    ]) {
      await open.database.query('update activity set detail_retry_at = now() where athlete_id = $1', [
        claim.athlete_id,
      ]);
      await jobs.release(claim);
      claim = (await jobs.claim(claim.id, claim.fence, LEASE_MS)) as ImportClaim;
      expect([(await run(claim, made)).kind, calls]).toEqual([kind, tries]);
    }
    expect(await rowsOf(claim)).toMatchObject([{ detail_status: 'set_aside', detail_attempts: 3 }]);
  });

  const lost: ReadonlyArray<readonly [string, (claim: ImportClaim) => Promise<unknown>]> = [
    ['the import was cancelled', ({ athlete_id, id }) => jobs.cancel(athlete_id, id)],
    [
      'another worker has claimed the import',
      async ({ id, fence }) => {
        await open.database.query('update import_jobs set leased_until = now() where id = $1', [id]);
        await jobs.claim(id, fence, LEASE_MS);
      },
    ],
  ];

  it.each(lost)(
    'an import stores nothing of a page that arrives after %s, and counts the rejected write',
    async (_, lose) => {
      const claim = await begun();
      fenceRejected.reset();
      expect(
        await run(
          claim,
          parts(one, () => lose(claim)),
        ),
      ).toEqual({ kind: 'over' });
      expect(await rowsOf(claim)).toEqual([]);
      expect((await fenceRejected.get()).values).toMatchObject([{ labels: { kind: 'import' }, value: 1 }]);
    },
  );

  const answers: ReadonlyArray<readonly [string, Partial<ImportParts['source']>]> = [
    ['a detail', {}],
    ['a refusal', { activity: () => Promise.resolve(GONE) }],
    ['an answer that cannot be parsed', { activity: () => Promise.resolve(MALFORMED) }],
  ];

  it.each(answers)('a cancelled import stores nothing of %s that arrives later', async (_, source) => {
    const claim = await begun();
    const made = parts(source, async () => void (await jobs.cancel(claim.athlete_id, claim.id)));
    const sync_cursor = { ...claim.sync_cursor, phase: 'details' } as const;
    await made.store.saveSummaries(open.database, atStrava(claim.athlete_id), page, new Date(0));
    expect(await run({ ...claim, sync_cursor }, made)).toEqual({ kind: 'over' });
    expect(await rowsOf(claim)).toEqual([
      { detail_status: 'pending', detail_attempts: 0, photos_status: 'pending' },
    ]);
  });

  /** Imports a history whose details are stored already, batch by batch. */
  async function imported(claim: ImportClaim, history: readonly ListedActivity[]) {
    let calls = 0;
    const vendor = parts({
      list: (_, listing) => {
        calls += 1;
        return Promise.resolve(ok(listed(history, listing)));
      },
      activity: (_, id) =>
        Promise.resolve(ok({ ...anActivity(), ...history.find((item) => item.id === id) })),
    });
    // Fetching hundreds of details would only take time here.
    const store = vendor.store;
    vendor.store.saveSummaries = async (sql, owner, summaries, askedAt) => {
      await ActivityStore.prototype.saveSummaries.call(store, sql, owner, summaries, askedAt);
      const done = `update activity set detail_status = 'stored', detail_stored_at = now() where athlete_id = $1`;
      await sql.query(done, [owner.athleteId]);
    };
    for (let at: ImportClaim | undefined = claim; at;) {
      const outcome = await run(at, vendor);
      if (outcome.kind !== 'more') break;
      await jobs.release(at);
      at = await jobs.claim(claim.id, at.fence, LEASE_MS);
    }
    const job = await jobs.find(claim.athlete_id, claim.id);
    return { calls, stored: (await rowsOf(claim)).length, status: job?.status, cursor: job?.sync_cursor };
  }

  const hourly = (
    count: number,
    kind: (n: number) => Partial<ListedActivity> = () => ({}),
  ): ListedActivity[] =>
    Array.from({ length: count }, (_, n) => ({
      ...anActivity({ id: `${n + 1}`, startTime: new Date(Date.now() - (n + 1) * HOUR_MS) }),
      ...kind(n),
    }));

  it('an import lists activities that are older than a page of mostly hidden ones', async () => {
    const history = hourly(450, (n) => ({ isHidden: n < 110 }));
    expect(await imported(await begun(READ_ONLY), history)).toMatchObject({
      status: 'completed',
      stored: 340,
    });
  });

  it('an import lists activities that are older than a page of hidden ones only', async () => {
    const history = hourly(450, (n) => ({ isHidden: n < 400 }));
    expect(await imported(await begun(READ_ONLY), history)).toMatchObject({
      status: 'completed',
      stored: 50,
    });
  });

  it('an import continues after a page of fewer than 200 activities, also with access to hidden ones', async () => {
    const history = hourly(450, (n) => ({ isHidden: n % 200 > 20 }));
    expect(await imported(await begun(READ_ALL), history)).toMatchObject({ status: 'completed', stored: 63 });
  });

  it('an import skips unreadable activities and counts them', async () => {
    const history = hourly(450, (n) => ({ isUnreadable: n % 200 === 199 }));
    const { stored, cursor } = await imported(await begun(), history);
    expect([stored, cursor?.unreadable]).toEqual([448, 2]);
  });

  it('an import of 10,000 activities of which 9,500 are hidden stores all 500 visible ones', async () => {
    const history = hourly(10_000, (n) => ({ isHidden: n % 20 !== 3 }));
    const { stored, calls, cursor } = await imported(await begun(READ_ONLY), history);
    expect(stored).toBe(500);
    expect(calls).toBeLessThanOrEqual(65);
    expect(cursor?.pages_listed).toBe(calls);
  });

  /** Returns how many rows each transaction of an import writes, in all tables and by triggers, too, and how many were open during a call. */
  async function transactionsOf(history: readonly ListedActivity[]) {
    const rows: number[] = [];
    let openDuringCalls = 0;
    const made = parts(
      {
        list: (_, listing) => Promise.resolve(ok(listed(history, listing))),
        activity: (_, id) => Promise.resolve(ok(anActivity({ id, totalPhotoCount: 1 }))),
      },
      async () => {
        const inTransaction = `
          select from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'`;
        openDuringCalls += (await open.database.query(inTransaction)).count;
      },
    );
    const written = async (sql: Sql) => {
      const statement = `
        select sum(n_tup_ins + n_tup_upd + n_tup_del)::int as rows
        from pg_stat_xact_user_tables`;
      return (await sql.query<{ rows: number }>(statement)).rows[0]?.rows ?? 0;
    };
    const athletes = Object.create(made.athletes) as Athletes;
    athletes.inGeneration = (athleteId, generation, work) =>
      made.athletes.inGeneration(athleteId, generation, async (sql) => {
        // The counts may include earlier transactions of the connection.
        const before = await written(sql);
        const result = await work(sql);
        rows.push((await written(sql)) - before);
        return result;
      });
    const outcome = await run(await begun(), { ...made, athletes });
    return { outcome: outcome.kind, transactions: rows.length, most: Math.max(...rows), openDuringCalls };
  }

  it('a transaction of an import writes the rows of one page at most, however long the history, and no call to the vendor is made within it', async () => {
    const [short, long] = [await transactionsOf(hourly(400)), await transactionsOf(hourly(2_000))];
    expect(long).toEqual({ outcome: 'more', transactions: 10, most: short.most, openDuringCalls: 0 });
    // Each activity, its change, and a few rows of the import and of counts.
    expect(long.most).toBeGreaterThan(PAGE);
    expect(long.most).toBeLessThan(2 * PAGE + 20);
    // The list, three details with three lists of photos, and the end.
    const whole = await transactionsOf(hourly(3, () => ({ totalPhotoCount: 1 })));
    expect(whole).toMatchObject({ outcome: 'over', openDuringCalls: 0 });
    expect(whole.transactions).toBeGreaterThanOrEqual(8);
    expect(whole.most).toBeLessThan(20);
  });

  const SYNCED = '2026-11-10T08:00:00.000Z';
  const syncedAfter = async (since: Date | null, before: string | null) => {
    const claim = await begun(READ_ALL, since);
    const statement = `insert into activity_sync (athlete_id, provider, last_sync_at) values ($1, 'strava', $2)`;
    if (before) await open.database.query(statement, [claim.athlete_id, before]);
    await run(claim, parts({}));
    const { rows } = await open.database.query<{ at: Date }>(
      'select last_sync_at as at from activity_sync where athlete_id = $1',
      [claim.athlete_id],
    );
    const at = rows[0]?.at.toISOString();
    return at === claim.created_at.toISOString() ? 'moved' : at;
  };

  it.each([
    ['the whole history', null, SYNCED, 'moved'],
    ['activities since before the last sync', new Date('2026-11-09T00:00:00Z'), SYNCED, 'moved'],
    ['activities since after the last sync', new Date('2026-11-12T00:00:00Z'), SYNCED, SYNCED],
    [
      'activities since some time, the first of the athlete,',
      new Date('2026-11-12T00:00:00Z'),
      null,
      'moved',
    ],
  ])('an import of %s advances the last sync only if no gap is left', async (_, since, before, after) => {
    expect(await syncedAfter(since, before)).toBe(after);
  });
});

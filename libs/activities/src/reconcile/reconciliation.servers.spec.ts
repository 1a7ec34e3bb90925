import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Athletes } from '#connections';
import { ClaimLost, createLogger, fenceRejected, timeScale } from '#platform';
import { type Budgets, type VendorShare } from '#rate-limit';
import {
  type ActivitySource,
  type CallContext,
  type CallFailure,
  type CallOutcome,
  type DetailedActivity,
  ok,
  type ProductConfig,
  type Sources,
  type SummaryActivity,
  type Vendor,
  VENDORS,
  vendorsWith,
} from '#vendors';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { testWorkers } from '../../../../test/harness/test-workers.js';
import { anActivity, listed, type ListedActivity, atStrava, STRAVAS_LIST } from '../activities.harness.js';
import { ActivityStore } from '../activity-store.js';
import { ImportJobs } from '../imports/import-jobs.js';
import { type ImportTicks } from '../imports/import-ticks.js';
import { PendingImports } from '../imports/pending-imports.js';
import { HistoryListing } from './history-listing.js';
import { MissingActivities } from './missing-activities.js';
import { Reconciliation } from './reconciliation.js';
import { ReconciliationCalls } from './reconciliation-calls.js';
import { type HistoryClaim, HistoryRows } from './history-rows.js';

const HOUR_MS = 3_600_000;
const GONE: CallFailure = { kind: 'gone', reason: '404' };
const MALFORMED: CallFailure = { kind: 'broken', because: 'malformed', reason: 'odd' };
const OUTAGE: CallFailure = { kind: 'broken', because: 'outage', reason: 'status 500' };
const REFUSED: CallFailure = { kind: 'refused', status: 400, reason: 'status 400' };
const FORBIDDEN: CallFailure = { kind: 'refused', status: 403, reason: 'status 403' };
const notNow = (because: 'limit' | 'tokenUnavailable'): CallFailure => ({
  kind: 'notNow',
  because,
  retryAfterMs: HOUR_MS,
  reason: because,
});
const FULL = notNow('limit');

it.each(vendorsWith('activities'))('%s gives reconciliations of activities a share of its day', (id) => {
  const { limits }: Vendor = VENDORS[id];
  expect(limits.shares).toHaveProperty('reconciliation');
});

describe('a reconciliation with the list of the vendor', () => {
  let open: OpenDatabase;
  let athleteId: string;
  /** The activities at Strava, newest first. `asked`: the requests that Strava got. */
  let history: ListedActivity[];
  let asked: string[];
  let budget: number;
  /** The properties of the vendor's list. */
  let list: Pick<ActivitySource, 'events' | 'history' | 'listedDays' | 'fullScope'>;
  /** The details in a page of the list. */
  let detailsOf: (page: readonly SummaryActivity[]) => readonly DetailedActivity[];
  /** The failure of all calls for an athlete. */
  let failureOf: (athleteId: string) => CallFailure | undefined;
  let afterCall: () => void;
  let signals: Array<AbortSignal | undefined>;
  /** Strava's answer to a request for one activity. */
  let detail: (id: string) => CallOutcome<DetailedActivity>;
  const store = new ActivityStore();
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());

  beforeEach(async () => {
    await open.database.query('delete from activity_sync');
    athleteId = await newAthlete(open.database);
    const nowMs = Date.now();
    history = Array.from({ length: 450 }, (_, n) =>
      anActivity({ id: `${n + 1}`, startTime: new Date(nowMs - (n + 1) * HOUR_MS) }),
    );
    asked = [];
    budget = Infinity;
    list = STRAVAS_LIST;
    detail = () => GONE;
    detailsOf = () => [];
    failureOf = () => undefined;
    afterCall = () => undefined;
    signals = [];
    await store.saveSummaries(open.database, atStrava(athleteId), history, new Date(0));
    await open.database.query(
      `update activity set detail_status = 'stored', detail_stored_at = now() where athlete_id = $1`,
      [athleteId],
    );
    await connected(athleteId);
    await syncedDaysAgo(athleteId, 8);
  });

  async function connected(athlete: string): Promise<string> {
    await open.database.query(
      `insert into connection
         (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
       values ($1, 'strava', $1::uuid::text, '{read,activity:read,activity:read_all}', '', '', 1, now())`,
      [athlete],
    );
    return athlete;
  }

  const syncedDaysAgo = (athlete: string, days: number) =>
    open.database.query(
      `insert into activity_sync (athlete_id, provider, last_sync_at) values ($1, 'strava', now() - $2 * interval '1 day')`,
      [athlete, days],
    );

  const request = <T>(
    { athleteId: athlete, signal }: CallContext,
    target: string,
    answer: () => CallOutcome<T>,
  ): Promise<CallOutcome<T>> => {
    const failure = failureOf(athlete);
    if (failure) return Promise.resolve(failure);
    if (asked.length >= budget) return Promise.resolve(FULL);
    asked.push(target);
    signals.push(signal);
    afterCall();
    return Promise.resolve(answer());
  };

  const everything = {
    isOpen: () => Promise.resolve(true),
    spend: <T>(call: (claim: () => Promise<boolean>) => Promise<T>) => call(() => Promise.resolve(true)),
  };

  function reconciliation(
    share: Pick<VendorShare, 'isOpen' | 'spend'> = everything,
    workers = testWorkers(),
  ): { readonly runOnce: () => Promise<void> } {
    const perPage = list.history === 'whole' ? 200 : Infinity;
    const source: Partial<ActivitySource> = {
      ...list,
      list: (context, listing) =>
        request(context, 'list', () => {
          const page = listed(history, { ...listing, perPage });
          return ok({ ...page, details: detailsOf(page.activities) });
        }),
      activity: (context, id) => request(context, id, () => detail(id)),
    };
    const sources = { activities: () => source } as unknown as Sources;
    const budgets: Pick<Budgets, 'share'> = { share: () => share as VendorShare };
    const calls = new ReconciliationCalls(sources, budgets as unknown as Budgets, open.database);
    const athletes = new Athletes(open.database);
    const rows = new HistoryRows(open.database, timeScale(1));
    const logger = createLogger({ level: 'silent', process: 'test' });
    const ticks = { next: () => Promise.resolve() } as unknown as ImportTicks;
    new Reconciliation(
      calls,
      rows,
      new HistoryListing(calls, athletes, store, rows, { vendors: { strava: {} } } as ProductConfig),
      new MissingActivities(calls, athletes, store, rows, logger),
      new PendingImports(store, new ImportJobs(open.database), ticks, open.database),
      workers,
      timeScale(1),
      logger,
    );
    return { runOnce: () => workers.drain() };
  }

  /** Ends leases and pauses. */
  const endLease = () =>
    open.database.query('update activity_sync set leased_until = now(), reconcile_after = now()');
  const without = (...ids: string[]) => (history = history.filter(({ id }) => !ids.includes(id)));
  const detailsAsked = () => asked.filter((target) => target !== 'list');

  async function counts(): Promise<{ activities: number; isDone: boolean }> {
    const { count } = await open.database.query('select 1 from activity where athlete_id = $1', [athleteId]);
    const { rows } = await open.database.query<{ done: boolean }>(
      'select reconciled_at is not null and reconcile_progress is null as done from activity_sync where athlete_id = $1',
      [athleteId],
    );
    return { activities: count, isDone: rows[0]?.done ?? false };
  }

  // Three pages, the oldest activity once more, and the empty page at the end.
  const LISTS = Array.from({ length: 5 }, () => 'list');

  it('a reconciliation requests activities that the list lacks, and removes an activity that is answered 404', async () => {
    without('7', '300');
    await reconciliation().runOnce();
    expect(asked).toEqual([...LISTS, '7', '300']);
    expect(await counts()).toEqual({ activities: 448, isDone: true });
  });

  it('an interrupted reconciliation continues from its last page, whichever call was refused', async () => {
    without('7', '300');
    for (budget = 0; budget < 8; budget += 1) {
      await reconciliation().runOnce();
      await endLease();
    }
    expect(asked).toEqual([...LISTS, '7', '300']);
    expect(await counts()).toEqual({ activities: 448, isDone: true });
  });

  it('a reconciliation that took two days is not due again at its end', async () => {
    budget = 1;
    await reconciliation().runOnce();
    await endLease();
    await open.database.query(
      `update activity_sync
       set reconcile_progress = jsonb_set(reconcile_progress, '{begun_at}', to_jsonb(now() - interval '2 days'))`,
    );
    budget = Infinity;
    await reconciliation().runOnce();
    const listings = asked.filter((target) => target === 'list').length;
    expect(listings).toBeLessThanOrEqual(LISTS.length);
    await reconciliation().runOnce();
    expect(asked.filter((target) => target === 'list')).toHaveLength(listings);
    expect((await counts()).isDone).toBe(true);
  });

  it('an interrupted reconciliation is not claimed again before its pause ends', async () => {
    budget = 1;
    await reconciliation().runOnce();
    budget = Infinity;
    await reconciliation().runOnce();
    expect(asked).toEqual(['list']);
  });

  it('a reconciliation does not request an activity by id if it is listed after a page of hidden activities', async () => {
    await open.database.query(`update connection set scopes = '{read,activity:read}'`);
    history = history.map((one, n) => (n < 390 ? { ...one, isHidden: true } : one));
    await open.database.query(
      `delete from activity where athlete_id = $1 and external_activity_id::int <= 390`,
      [athleteId],
    );
    await reconciliation().runOnce();
    expect(detailsAsked()).toEqual([]);
    expect(await counts()).toEqual({ activities: 60, isDone: true });
  });

  it.each([
    ['twelve years', 12 * 365, []],
    ['a day', 1, ['future']],
  ])(
    'an activity that its device dated %s ahead is requested by id only if the list covers that date',
    async (_, days, requested) => {
      const startTime = new Date(Date.now() + days * 24 * HOUR_MS);
      const ahead = anActivity({ id: 'future', startTime });
      await store.saveDetail(open.database, atStrava(athleteId), ahead, new Date(0));
      detail = (id) => ok(anActivity({ id, startTime }));
      await reconciliation().runOnce();
      expect(detailsAsked()).toEqual(requested);
      expect(await counts()).toEqual({ activities: 451, isDone: true });
    },
  );

  it('a reconciliation does not request an activity by id if it is listed but cannot be parsed', async () => {
    history = history.map((one) => (one.id === '7' ? { ...one, isUnreadable: true } : one));
    await reconciliation().runOnce();
    expect(detailsAsked()).toEqual([]);
    expect(await counts()).toEqual({ activities: 450, isDone: true });
  });

  const odd: ReadonlyArray<readonly [string, () => CallOutcome<DetailedActivity>]> = [
    ['cannot be read', () => MALFORMED],
    ['fails at Strava', () => OUTAGE],
    ['is forbidden', () => FORBIDDEN],
    ['is answered with another one', () => ok(anActivity({ id: '8' }))],
  ];

  it.each(odd)(
    'a reconciliation completes although one missing activity %s, and requests that activity again another day',
    async (_, error) => {
      without('7', '300');
      detail = (id) => (id === '7' ? error() : GONE);
      await reconciliation().runOnce();
      expect(detailsAsked()).toEqual(['7', '300']);
      expect(await counts()).toEqual({ activities: 449, isDone: true });
      await open.database.query(`update activity_sync set reconciled_at = now() - interval '2 days'`);
      await reconciliation().runOnce();
      expect(detailsAsked()).toEqual(['7', '300']);
      await open.database.query(`update activity_sync set reconciled_at = now() - interval '2 days'`);
      await open.database.query('update activity set confirm_after = now() where confirm_after is not null');
      detail = () => GONE;
      await reconciliation().runOnce();
      expect(await counts()).toEqual({ activities: 448, isDone: true });
    },
  );

  it('a reconciliation confirms the other missing activities later if three in a row have failed', async () => {
    without('7', '8', '9', '10', '300');
    detail = (id) => (id === '300' ? GONE : OUTAGE);
    await reconciliation().runOnce();
    expect(detailsAsked()).toEqual(['7', '8', '9']);
    expect((await counts()).isDone).toBe(false);
    await endLease();
    await reconciliation().runOnce();
    expect(detailsAsked()).toEqual(['7', '8', '9', '10', '300']);
    expect(await counts()).toEqual({ activities: 449, isDone: true });
  });

  it('a reconciliation fails if Strava refuses its request for a missing activity, and no activity waits for days', async () => {
    without('7', '300');
    detail = () => REFUSED;
    await reconciliation().runOnce();
    expect(detailsAsked()).toEqual(['7']);
    await endLease();
    detail = () => GONE;
    await reconciliation().runOnce();
    expect(detailsAsked()).toEqual(['7', '7', '300']);
    expect(await counts()).toEqual({ activities: 448, isDone: true });
  });

  it('a reconciliation of an athlete whose token cannot be renewed does not delay that of another athlete', async () => {
    const other = await connected(await newAthlete(open.database));
    await syncedDaysAgo(other, 2);
    failureOf = (athlete) => (athlete === athleteId ? notNow('tokenUnavailable') : undefined);
    await reconciliation().runOnce();
    const { rows } = await open.database.query<{ athlete_id: string; failures: number; done: boolean }>(
      'select athlete_id, reconcile_failures as failures, reconciled_at is not null as done from activity_sync order by last_sync_at',
    );
    expect(rows).toEqual([
      { athlete_id: athleteId, failures: 1, done: false },
      { athlete_id: other, failures: 0, done: true },
    ]);
  });

  it('a reconciliation ends after its present call while its worker stops, and another worker continues at once', async () => {
    without('7');
    const workers = testWorkers();
    afterCall = () => void (asked.length === 2 && workers.beforeApplicationShutdown());
    await reconciliation(everything, workers).runOnce();
    expect(asked).toEqual(['list', 'list']);
    afterCall = () => undefined;
    await reconciliation().runOnce();
    expect(asked).toEqual([...LISTS, '7']);
    expect(await counts()).toEqual({ activities: 449, isDone: true });
  });

  it('a worker that stops leaves the missing activities to another worker, which continues at once', async () => {
    without('7', '8', '300');
    const workers = testWorkers();
    afterCall = () => void (asked.length === LISTS.length + 1 && workers.beforeApplicationShutdown());
    await reconciliation(everything, workers).runOnce();
    expect(asked).toEqual([...LISTS, '7']);
    afterCall = () => undefined;
    await reconciliation().runOnce();
    expect(asked).toEqual([...LISTS, '7', '8', '300']);
  });

  it('the calls of a reconciliation abort with its lease', async () => {
    await reconciliation().runOnce();
    expect(signals).toHaveLength(LISTS.length);
    expect(signals.every((signal) => signal instanceof AbortSignal)).toBe(true);
  });

  it('a reconciliation restores an activity that was hidden and is visible again, without an event', async () => {
    const all = history;
    without('7');
    await reconciliation().runOnce();
    expect(await counts()).toEqual({ activities: 449, isDone: true });
    history = all;
    await open.database.query(`update activity_sync set reconciled_at = now() - interval '2 days'`);
    await reconciliation().runOnce();
    expect(await counts()).toEqual({ activities: 450, isDone: true });
  });

  it('the pause after each failed reconciliation in a row is longer', async () => {
    const pauses: number[] = [];
    const failing = { ...everything, spend: () => Promise.reject(new Error('odd')) };
    for (let failures = 0; failures < 3; failures += 1) {
      await reconciliation(failing).runOnce();
      const { rows } = await open.database.query<{ minutes: number }>(
        'select extract(epoch from reconcile_after - clock_timestamp())::float8 / 60 as minutes from activity_sync where athlete_id = $1',
        [athleteId],
      );
      pauses.push(Math.round(rows[0]?.minutes ?? 0));
      await endLease();
    }
    expect(pauses).toEqual([10, 20, 40]);
  });

  it('a new consent ends the pause of a failed reconciliation', async () => {
    failureOf = () => MALFORMED;
    await reconciliation().runOnce();
    failureOf = () => undefined;
    await reconciliation().runOnce();
    expect(asked).toEqual([]);
    await open.database.query('update connection set connected_at = clock_timestamp()');
    await reconciliation().runOnce();
    expect(asked).toEqual(LISTS);
  });

  it('a reconciliation makes no call while its share of the day is used up, and then continues from the same page', async () => {
    let room = 3;
    const share = {
      isOpen: () => Promise.resolve(room > 0),
      spend: <T>(call: (claim: () => Promise<boolean>) => Promise<T>) => {
        if (room === 0) return Promise.resolve(undefined);
        room -= 1;
        return call(() => Promise.resolve(true));
      },
    };
    await reconciliation(share).runOnce();
    expect(asked).toHaveLength(3);
    await endLease();
    await reconciliation(share).runOnce();
    expect(asked).toHaveLength(3);
    room = 5;
    await reconciliation(share).runOnce();
    expect(asked).toEqual(LISTS);
    expect((await counts()).isDone).toBe(true);
  });

  it('a list that has only the last days is requested once, and earlier activities do not count as missing', async () => {
    const DAYS = 10;
    list = { events: 'uploads', history: 'since connection', listedDays: DAYS };
    await connectedDaysAgo(60);
    // The vendor lists the ten last days, and one activity of them is gone.
    history = history.slice(0, DAYS * 24);
    without('100');
    await reconciliation().runOnce();
    expect(asked).toEqual(['list', '100']);
    expect(await counts()).toEqual({ activities: 449, isDone: true });
  });

  const connectedDaysAgo = (days: number) =>
    open.database.query(
      "update connection set connected_at = now() - $2 * interval '1 day' where athlete_id = $1",
      [athleteId, days],
    );

  it('activities from before a new connection do not count as missing from a list since the connection', async () => {
    list = { events: 'uploads', history: 'since connection', listedDays: 10 };
    await connectedDaysAgo(2);
    // The vendor lists nothing from before the connection, and one activity since then is gone.
    history = history.slice(0, 2 * 24 - 1);
    without('20');
    await reconciliation().runOnce();
    expect(asked).toEqual(['list', '20']);
    expect(await counts()).toEqual({ activities: 449, isDone: true });
  });

  it('activities past the end of the vendor’s list do not count as missing if the clock of the database is two days behind', async () => {
    list = { events: 'uploads', history: 'since connection', listedDays: 10 };
    await connectedDaysAgo(60);
    history = history.slice(0, (10 - 2) * 24);
    await reconciliation().runOnce();
    expect(asked).toEqual(['list']);
    expect(await counts()).toEqual({ activities: 450, isDone: true });
  });

  it('a reconciliation stores the details that the list has, so that nothing is left for an import', async () => {
    list = { events: 'uploads', history: 'since connection', listedDays: 10 };
    await connectedDaysAgo(60);
    history = [anActivity({ id: 'new', startTime: new Date(), description: 'from the list' })];
    detailsOf = (page) => page as DetailedActivity[];
    await open.database.query('delete from activity where athlete_id = $1', [athleteId]);
    await reconciliation().runOnce();
    expect(asked).toEqual(['list']);
    const statement = 'select description, detail_status from activity where athlete_id = $1';
    expect((await open.database.query(statement, [athleteId])).rows).toEqual([
      { description: 'from the list', detail_status: 'stored' },
    ]);
  });

  it('a reconciliation with one vendor neither reads nor removes the activities of another', async () => {
    const other = { athleteId, provider: 'oura' } as const;
    await store.saveSummaries(open.database, other, [anActivity({ id: 'x' })], new Date(0));
    await reconciliation().runOnce();
    expect(detailsAsked()).toEqual([]);
    expect((await counts()).activities).toBe(451);
  });

  it('the athlete who was reconciled longest ago is claimed first', async () => {
    const others: string[] = [];
    for (const days of [3, 5, 4]) {
      const other = await connected(await newAthlete(open.database));
      await open.database.query(
        `insert into activity_sync (athlete_id, provider, last_sync_at, reconciled_at, whole_history_reconciled_at)
         values ($1, 'strava', now(), now() - $2 * interval '1 day', now())`,
        [other, days],
      );
      others.push(other);
    }
    const rows = new HistoryRows(open.database, timeScale(1));
    const claimed: Array<string | undefined> = [];
    for (let n = 0; n < 5; n += 1)
      claimed.push((await rows.claim('strava', 'each change', HOUR_MS))?.athlete_id);
    const [three, five, four] = others;
    expect(claimed).toEqual([athleteId, five, four, three, undefined]);
  });

  describe('the fence of a reconciliation', () => {
    const rows = () => new HistoryRows(open.database, timeScale(1));
    const claimed = async () => (await rows().claim('strava', 'each change', HOUR_MS)) as HistoryClaim;
    const row = async () => (await open.database.query('select * from activity_sync')).rows[0];

    const writes: ReadonlyArray<readonly [string, (claim: HistoryClaim) => Promise<unknown>]> = [
      ['move on', (claim) => rows().moveOn(open.database, claim, rows().beginning(claim), undefined)],
      ['finish', (claim) => rows().finish(claim, rows().beginning(claim))],
      ['postpone', (claim) => rows().claims.postpone(claim, HOUR_MS)],
      ['fail', (claim) => rows().claims.failed(claim, HOUR_MS, HOUR_MS)],
      ['postpone an activity', (claim) => rows().unconfirmed(claim, '7')],
    ];

    it.each(writes)(
      'the write "%s" changes nothing, and is counted, if another worker has claimed the reconciliation of activities since',
      async (_, write) => {
        const frozen = await claimed();
        await endLease();
        await claimed();
        const before = await row();
        fenceRejected.reset();
        const answer = await write(frozen).catch((error: unknown) => error);
        expect(answer === false || answer instanceof ClaimLost).toBe(true);
        expect(await rows().claims.renew(frozen, HOUR_MS)).toBe(false);
        expect(await row()).toEqual(before);
        expect((await fenceRejected.get()).values).toMatchObject([
          { labels: { kind: 'activity_reconciliation' }, value: 1 },
        ]);
      },
    );

    /** Another worker claims the reconciliation while the call about one activity is under way. */
    const frozenInConfirmation = () => ({
      ...everything,
      spend: async <T>(call: (claim: () => Promise<boolean>) => Promise<T>) => {
        if (asked.length < LISTS.length) return everything.spend(call);
        const answer = await everything.spend(call);
        await endLease();
        await claimed();
        return answer;
      },
    });

    it('an activity is not removed by a worker that was frozen for longer than its lease', async () => {
      without('7');
      await reconciliation(frozenInConfirmation()).runOnce();
      expect(asked).toEqual([...LISTS, '7']);
      expect((await counts()).activities).toBe(450);
    });

    it('an activity that the list lacks and Strava has is not stored by a worker that was frozen for longer than its lease', async () => {
      without('7');
      detail = (id) => ok(anActivity({ id, name: 'renamed' }));
      await reconciliation(frozenInConfirmation()).runOnce();
      expect(asked).toEqual([...LISTS, '7']);
      const statement = `select 1 from activity where athlete_id = $1 and name = 'renamed'`;
      expect((await open.database.query(statement, [athleteId])).count).toBe(0);
    });

    it('a page of a worker that was frozen for longer than its lease is not stored', async () => {
      history = history.map((one) => ({ ...one, name: 'renamed' }));
      const share = {
        ...everything,
        spend: async <T>(call: (claim: () => Promise<boolean>) => Promise<T>) => {
          const answer = await everything.spend(call);
          await endLease();
          await claimed();
          return answer;
        },
      };
      await reconciliation(share).runOnce();
      expect(asked).toEqual(['list']);
      const statement = `select 1 from activity where athlete_id = $1 and name = 'renamed'`;
      expect((await open.database.query(statement, [athleteId])).count).toBe(0);
    });
  });

  describe('a reconciliation of an athlete whose events arrive', () => {
    const eventOf = (objectType: string, outcome: string, ago: string) =>
      open.database.query(
        `insert into webhook_event
           (vendor, dedupe_key, owner_id, object_type, object_id, aspect, event_time, raw, processed_at, outcome)
         values ('strava', $1, $1, $4, '1', 'create', now(), '', now() - $2::interval, $3)`,
        [athleteId, ago, outcome, objectType],
      );
    const wholeWas = (ago: string) =>
      open.database.query(
        `update activity_sync set whole_history_reconciled_at = now() - $1::interval, reconciled_at = now() - interval '30 hours'`,
        [ago],
      );
    const EACH_CHANGE = { events: 'each change' } as const;
    const UPLOADS = { events: 'uploads' } as const;

    it.each([
      ['waits after an event of today', EACH_CHANGE, 'activity', 'applied', '1 hour', '2 days', 0],
      ['runs after an event of the day before', EACH_CHANGE, 'activity', 'applied', '25 hours', '2 days', 1],
      ['runs after an event that was set aside', EACH_CHANGE, 'activity', 'set_aside', '1 hour', '2 days', 1],
      [
        'of the whole history runs after an event of today',
        EACH_CHANGE,
        'activity',
        'applied',
        '1 hour',
        '8 days',
        1,
      ],
      ['runs after an event about a night', EACH_CHANGE, 'sleep', 'applied', '1 hour', '2 days', 1],
      [
        'runs after an upload at a vendor without events of edits and deletions',
        UPLOADS,
        'activity',
        'applied',
        '1 hour',
        '2 days',
        1,
      ],
    ])('a reconciliation %s', async (_, events, objectType, outcome, ago, whole, compared) => {
      list = { ...list, ...events };
      await eventOf(objectType, outcome, ago);
      await wholeWas(whole);
      await reconciliation().runOnce();
      expect(asked.length > 0 ? 1 : 0).toBe(compared);
    });
  });
});

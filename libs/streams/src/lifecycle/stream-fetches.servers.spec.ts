import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, migrateUp, NotFound, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { migrateDown } from '../../../platform/src/database/migrate.js';
import {
  aStored,
  claimOf,
  connect,
  FETCHED_AT,
  type Given,
  newActivity,
  passTime,
  stateOf,
  streamOf,
} from '../streams.harness.js';
import {
  type BackfillOwner,
  FETCH_STATUSES,
  type FetchClaim,
  type FetchStatus,
  StreamFetches,
} from './stream-fetches.js';
import { STALE_AFTER_MS } from './retry-policy.js';

type Rule = 'always' | 'with a new fence';

/** The allowed transitions; the trigger rejects all others. */
const ALLOWED: Readonly<Record<FetchStatus, Readonly<Partial<Record<FetchStatus, Rule>>>>> = {
  pending: { fetching: 'with a new fence' },
  failed: { fetching: 'with a new fence', pending: 'with a new fence' },
  deferred: { fetching: 'with a new fence', pending: 'with a new fence' },
  fetching: {
    success: 'always',
    failed: 'always',
    deferred: 'always',
    unavailable: 'always',
    pending: 'with a new fence',
  },
  success: { pending: 'with a new fence' },
  unavailable: { pending: 'with a new fence' },
};
const TRANSITIONS = FETCH_STATUSES.flatMap((from) =>
  FETCH_STATUSES.filter((to) => to !== from).map((to) => [from, to, ALLOWED[from][to] ?? 'never'] as const),
);

const OUTCOMES = ['succeed', 'fail', 'defer', 'giveUp'] as const;
type Outcome = (typeof OUTCOMES)[number];
const STATUS_AFTER = {
  succeed: 'success',
  fail: 'failed',
  defer: 'deferred',
  giveUp: 'unavailable',
} as const;

describe('the fetch states of activities', () => {
  let open: OpenDatabase;
  let sql: Database;
  let fetches: StreamFetches;
  let athleteId: string;
  let owner: BackfillOwner;

  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 8 });
    sql = open.database;
    fetches = new StreamFetches(sql, timeScale(1));
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from activity');
    athleteId = await newAthlete(sql);
    owner = { athleteId, provider: 'strava' };
  });

  const anActivity = (given: Given = {}) => newActivity(sql, athleteId, given);
  const state = (id: string) => stateOf(sql, id);
  const rowsOf = async (id: string) => ({ state: await stateOf(sql, id), stream: await streamOf(sql, id) });

  async function write(how: Outcome, claim: FetchClaim, watts = 1, by = fetches): Promise<boolean> {
    switch (how) {
      case 'succeed':
        return by.succeed(claim, 'strava', FETCHED_AT, await aStored(claim.id, watts));
      case 'fail':
        return by.fail(claim, 'no answer');
      case 'defer':
        return by.defer(claim, { reason: 'later', forMs: 60_000, isEmpty: false });
      case 'giveUp':
        return by.giveUp(claim);
    }
  }

  async function claimed(id: string): Promise<FetchClaim> {
    const claim = await fetches.claim(id);
    if (!claim) throw new Error('the activity could not be claimed');
    return claim;
  }

  describe('guarded by the trigger', () => {
    const move = (id: string, to: FetchStatus, byFence: number) =>
      sql.query(
        `update activity
         set
           stream_fetch_status = $2,
           stream_fetch_fence = stream_fetch_fence + $3,
           stream_fetch_attempted_at = now(),
           stream_fetch_deferred_until = now()
         where id = $1`,
        [id, to, byFence],
      );

    it.each(TRANSITIONS)(
      'the trigger checks a fetch state transition from %s to %s: allowed %s',
      async (from, to, rule) => {
        for (const byFence of [0, 1]) {
          const id = await anActivity({ status: from, fence: 5 });
          const before = await rowsOf(id);
          const moving = move(id, to, byFence);
          if (rule === 'always' || (rule === 'with a new fence' && byFence > 0)) {
            await moving;
            expect(await state(id)).toMatchObject({ status: to, fence: 5 + byFence });
          } else {
            const complaint =
              rule === 'never' ? `no way from ${from} to ${to}` : `${from} to ${to} needs a new fence`;
            await expect(moving).rejects.toThrow(`stream_fetch_status: ${complaint}`);
            expect(await rowsOf(id)).toEqual(before);
          }
        }
      },
    );

    it.each(FETCH_STATUSES)(
      'the trigger allows the fence of %s to stay or rise, and rejects a lower one',
      async (status) => {
        const id = await anActivity({ status, fence: 5 });
        await move(id, status, 0);
        await move(id, status, 1);
        await expect(move(id, status, -1)).rejects.toThrow('the fence of a stream fetch never falls');
        expect(await state(id)).toMatchObject({ status, fence: 6 });
      },
    );

    it.each(TRANSITIONS)('the trigger rejects %s to %s with a lower fence', async (from, to) => {
      const id = await anActivity({ status: from, fence: 5 });
      await expect(move(id, to, -1)).rejects.toThrow('the fence of a stream fetch never falls');
    });

    it.each([
      ['an unknown state', `'done'`, 'now()', 'now()', 'activity_stream_fetch_status'],
      [
        'fetching without the time of the attempt',
        `'fetching'`,
        'null',
        'null',
        'activity_stream_fetch_fetching',
      ],
      ['deferred without an end', `'deferred'`, 'now()', 'null', 'activity_stream_fetch_deferred'],
    ])(
      'a constraint rejects the fetch state %s',
      async (_, status, attemptedAt, deferredUntil, constraint) => {
        const id = await anActivity();
        await sql.query('alter table activity disable trigger activity_stream_fetch_moves');
        try {
          const set = `
          update activity
          set
            stream_fetch_status = ${status},
            stream_fetch_attempted_at = ${attemptedAt},
            stream_fetch_deferred_until = ${deferredUntil}
          where id = $1`;
          await expect(sql.query(set, [id])).rejects.toThrow(constraint);
        } finally {
          await sql.query('alter table activity enable trigger activity_stream_fetch_moves');
        }
      },
    );

    it('the fetch states have the transitions of docs/stream-lifecycle.md', () => {
      const text = readFileSync(new URL('../../../../docs/stream-lifecycle.md', import.meta.url), 'utf8');
      const table = text.split('\n').filter((line) => line.startsWith('|'));
      const cells = (line = '') => line.split('|').map((cell) => cell.trim().replaceAll('`', ''));
      const [, , ...targets] = cells(table[0]).slice(0, -1);
      for (const from of FETCH_STATUSES) {
        const [, , ...causes] = cells(table.find((line) => cells(line)[1] === from));
        const documented = targets.filter((_, index) => causes[index] !== '');
        expect([from, ...documented.sort()]).toEqual([from, ...Object.keys(ALLOWED[from]).sort()]);
      }
    });
  });

  describe('through the functions', () => {
    it.each(FETCH_STATUSES)('claims an activity only in an allowed state: %s', async (status) => {
      const id = await anActivity({
        status,
        fence: 5,
        retries: 1,
        attempted: '1 hour',
        deferredFor: '-1 hour',
      });
      const before = await state(id);
      const claim = await fetches.claim(id);
      if (ALLOWED[status].fetching) {
        expect(claim).toMatchObject({ id, fence: '6', retry_count: 1 });
        expect(await state(id)).toMatchObject({ status: 'fetching', fence: 6, retries: 1 });
      } else {
        expect(claim).toBeUndefined();
        expect(await state(id)).toEqual(before);
      }
    });

    it.each(FETCH_STATUSES.flatMap((status) => OUTCOMES.map((how) => [status, how] as const)))(
      'an outcome is written only to a fetching activity: %s, %s',
      async (status, how) => {
        const id = await anActivity({ status, fence: 5 });
        const before = await rowsOf(id);
        const isWritten = await write(how, claimOf(id, 5));
        expect(isWritten).toBe(status === 'fetching');
        if (isWritten) expect(await state(id)).toMatchObject({ status: STATUS_AFTER[how], fence: 5 });
        else expect(await rowsOf(id)).toEqual(before);
      },
    );

    it.each(FETCH_STATUSES)('the cleanup ends only a fetch under way, an hour later: %s', async (status) => {
      const id = await anActivity({ status, fence: 5, retries: 1, attempted: '1 hour' });
      const before = await state(id);
      const taken = await fetches.cleanUp(STALE_AFTER_MS);
      if (status === 'fetching') {
        expect(taken).toEqual([{ id, athlete_id: athleteId }]);
        expect(await state(id)).toMatchObject({
          status: 'failed',
          error: 'fetching_timeout_cleanup',
          fence: 6,
          retries: 2,
        });
      } else {
        expect(taken).toEqual([]);
        expect(await state(id)).toEqual(before);
      }
    });

    it('a failure uses an attempt, a deferral does not, and success clears error and deferral', async () => {
      const id = await anActivity();
      await fetches.fail(await claimed(id), 'no answer');
      expect(await state(id)).toMatchObject({ status: 'failed', error: 'no answer', retries: 1 });
      await passTime(sql, [id], '1 minute');
      await fetches.defer(await claimed(id), { reason: 'full', forMs: 90_000, isEmpty: false });
      const deferred = await state(id);
      expect(deferred).toMatchObject({ status: 'deferred', error: 'full', retries: 1, empties: 0 });
      expect(deferred.deferred_until!.getTime() - deferred.attempted_at!.getTime()).toBeGreaterThanOrEqual(
        90_000,
      );
      await passTime(sql, [id], '90 seconds');
      await fetches.defer(await claimed(id), { reason: 'nothing yet', forMs: 1, isEmpty: true });
      expect(await state(id)).toMatchObject({ status: 'deferred', retries: 1, empties: 1 });
      await passTime(sql, [id], '1 second');
      await write('succeed', await claimed(id));
      expect(await state(id)).toMatchObject({
        status: 'success',
        error: null,
        deferred_until: null,
        fence: 4,
      });
    });

    it('the state unavailable clears error and deferral', async () => {
      const id = await anActivity({ status: 'deferred', deferredFor: '-1 second', error: 'nothing yet' });
      await fetches.giveUp(await claimed(id));
      expect(await state(id)).toMatchObject({ status: 'unavailable', error: null, deferred_until: null });
    });
  });

  describe('claims', () => {
    const DUE: ReadonlyArray<[string, Given, boolean]> = [
      ['before the first attempt', {}, true],
      [
        '59 seconds after the first failure',
        { status: 'failed', retries: 1, attempted: '59 seconds' },
        false,
      ],
      ['60 seconds after the first failure', { status: 'failed', retries: 1, attempted: '60 seconds' }, true],
      [
        '299 seconds after the second failure',
        { status: 'failed', retries: 2, attempted: '299 seconds' },
        false,
      ],
      [
        '300 seconds after the second failure',
        { status: 'failed', retries: 2, attempted: '300 seconds' },
        true,
      ],
      ['10 years after the third failure', { status: 'failed', retries: 3, attempted: '10 years' }, false],
      ['10 years after the seventh failure', { status: 'failed', retries: 7, attempted: '10 years' }, false],
      ['while it is deferred', { status: 'deferred', deferredFor: '1 minute' }, false],
      ['after its deferral', { status: 'deferred', deferredFor: '-1 second' }, true],
      ['after its deferral, with nine failures', { status: 'deferred', deferredFor: '0', retries: 9 }, true],
      ['without an id at the vendor', { externalId: null }, false],
      ['entered by hand', { manual: true }, false],
    ];
    it.each(DUE.map(([when, given, isDue]) => [isDue ? 'due' : 'not due', when, given] as const))(
      'the streams of an activity are %s %s, for claim, backfill and sweep',
      async (due, _, given) => {
        const isDue = due === 'due';
        const id = await anActivity(given);
        await connect(sql, athleteId);
        expect((await fetches.due(owner, 10)).map((due) => due.id)).toEqual(isDue ? [id] : []);
        expect(await fetches.athletesWithDue()).toEqual(isDue ? [owner] : []);
        expect((await fetches.claim(id)) !== undefined).toBe(isDue);
      },
    );

    it('a stream retry is due sooner at time scale 60', async () => {
      const id = await anActivity({ status: 'failed', retries: 1, attempted: '2 seconds' });
      expect(await fetches.claim(id)).toBeUndefined();
      expect(await new StreamFetches(sql, timeScale(60)).claim(id)).toBeDefined();
    });

    it('an activity can be claimed three times if all attempts fail, and again after a reset', async () => {
      const id = await anActivity();
      for (const wait of ['1 minute', '5 minutes', '1 year']) {
        await fetches.fail(await claimed(id), 'no answer');
        expect(await fetches.claim(id)).toBeUndefined();
        await passTime(sql, [id], wait);
      }
      expect(await fetches.claim(id)).toBeUndefined();
      await fetches.reset(id);
      expect(await claimed(id)).toMatchObject({ retry_count: 0 });
    });

    it('exactly one of twelve simultaneous claims over four connections succeeds', async () => {
      const pools = await Promise.all(Array.from({ length: 4 }, () => openPool(open.url)));
      const workers = pools.map(({ database }) => new StreamFetches(database, timeScale(1)));
      for (let round = 0; round < 20; round += 1) {
        const id = await anActivity();
        const claims = await Promise.all(
          [...workers, ...workers, ...workers].map((worker) => worker.claim(id)),
        );
        expect(claims.filter(Boolean)).toHaveLength(1);
        expect(await state(id)).toMatchObject({ status: 'fetching', fence: 1 });
      }
      await Promise.all(pools.map((pool) => pool.close()));
    });

    it.each([
      ['fails', 'commits'],
      ['succeeds', 'rolls back'],
    ])('a claim that waited for another claim %s if the other claim %s', async (_, how) => {
      const id = await anActivity();
      let second: Promise<FetchClaim | undefined> | undefined;
      const first = sql.transaction(async (inside) => {
        expect(await new StreamFetches(inside as Database, timeScale(1)).claim(id)).toBeDefined();
        second = fetches.claim(id);
        await aLockIsAwaited();
        if (how === 'rolls back') throw new Error('the worker died');
      });
      await first.catch(() => undefined);
      expect((await second)?.fence).toBe(how === 'commits' ? undefined : '1');
    });

    it('a claim says whether the activity ended less than 24 hours ago', async () => {
      const isFresh = async (ended: string) => (await claimed(await anActivity({ ended }))).is_fresh;
      expect(await isFresh('23 hours 59 minutes')).toBe(true);
      expect(await isFresh('24 hours 1 second')).toBe(false);
    });

    it('a claim of an unknown activity returns undefined', async () => {
      expect(await fetches.claim(randomUUID())).toBeUndefined();
    });
  });

  describe('due activities', () => {
    it('due lists the activities of one athlete, newest first, up to the limit', async () => {
      const ids = [];
      for (const ended of ['3 days', '1 day', '2 days']) ids.push(await anActivity({ ended }));
      await newActivity(sql, await newAthlete(sql));
      const due = await fetches.due(owner, 2);
      expect(due.map(({ id }) => id)).toEqual([ids[1], ids[2]]);
    });

    it('due lists the activities of the requested vendor only', async () => {
      const [ours, theirs] = [await anActivity(), await anActivity({ provider: 'oura' })];
      expect((await fetches.due(owner, 2)).map(({ id }) => id)).toEqual([ours]);
      expect((await fetches.due({ athleteId, provider: 'oura' }, 2)).map(({ id }) => id)).toEqual([theirs]);
    });

    it('an activity is due for its streams exactly if a claim succeeds', async () => {
      const times = ['0', '2 minutes', '6 minutes', '1 day'];
      const all: string[] = [];
      for (const status of FETCH_STATUSES)
        for (const attempted of times)
          for (const retries of [0, 1, 2, 3])
            for (const deferredFor of ['-1 minute', '1 minute'])
              all.push(await anActivity({ status, attempted, retries, deferredFor }));
      const due = (await fetches.due(owner, 1_000)).map(({ id }) => id);
      const claims = await Promise.all(all.map((id) => fetches.claim(id)));
      expect(due.sort()).toEqual(claims.flatMap((claim) => claim?.id ?? []).sort());
      expect(due.length).toBeGreaterThan(0);
    });

    it('finds connected athletes with due activities, and no others', async () => {
      const [idle, gone, refused] = [await newAthlete(sql), await newAthlete(sql), await newAthlete(sql)];
      await anActivity();
      await newActivity(sql, idle, { status: 'success' });
      await newActivity(sql, gone);
      await newActivity(sql, refused);
      await connect(sql, athleteId);
      await connect(sql, idle);
      await connect(sql, refused, 'needs_reauth');
      expect(await fetches.athletesWithDue()).toEqual([owner]);
    });
  });

  describe('activities without streams at the vendor', () => {
    it.each<[string, Given]>([
      ['entered by hand', { manual: true }],
      ['without an id at the vendor', { externalId: null }],
      ['entered by hand, without an id at the vendor', { manual: true, externalId: null }],
      ['entered by hand, inserted as pending', { manual: true, status: 'pending' }],
    ])('an activity is unavailable from the start if it is %s', async (_, given) => {
      const id = await anActivity(given);
      expect(await state(id)).toMatchObject({ status: 'unavailable', error: null, retries: 0, fence: 0 });
      expect(await fetches.claim(id)).toBeUndefined();
      await connect(sql, athleteId);
      expect(await fetches.due(owner, 10)).toEqual([]);
      expect(await fetches.athletesWithDue()).toEqual([]);
    });

    it('a reset leaves an activity of a vendor without streams unavailable', async () => {
      const id = await anActivity({ provider: 'oura', status: 'unavailable' });
      expect(await fetches.reset(id)).toMatchObject({ status: 'unavailable' });
      expect(await fetches.claim(id)).toBeUndefined();
    });

    it('the migration sets the fetch state of existing activities', async () => {
      const older = await openTestDatabase();
      for (let undone: string[] = []; !undone.some((name) => name.startsWith('activity_stream_'));)
        undone = await migrateDown(older.url);
      const owner = await newAthlete(older.database);
      const insert = (externalId: string | null, manual: boolean) =>
        older.database.query(
          `insert into activity (
             provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
             elevation_gain_m, manual, private, total_photo_count, asked_at
           )
           values ('strava', $1, $2, '', 'Ride', now(), 1, 1, 1, 1, $3, false, 0, now())`,
          [owner, externalId, manual],
        );
      await insert('1', false);
      await insert('2', true);
      await insert(null, false);
      await migrateUp(older.url);
      const { rows } = await older.database.query(
        `select external_activity_id as id, stream_fetch_status as status, stream_fetch_fence as fence
         from activity order by external_activity_id`,
      );
      expect(rows).toEqual([
        { id: '1', status: 'pending', fence: '0' },
        { id: '2', status: 'unavailable', fence: '0' },
        { id: null, status: 'unavailable', fence: '0' },
      ]);
      await older.close();
    });
  });

  describe('after a reset', () => {
    const used: Given = {
      error: 'no answer',
      retries: 3,
      empties: 2,
      fence: 7,
      attempted: '1 hour',
      deferredFor: '1 hour',
    };

    it.each(FETCH_STATUSES)('a reset makes %s pending and keeps stored streams', async (status) => {
      const id = await anActivity({ status: 'fetching', fence: 6 });
      await write('succeed', claimOf(id, 6));
      const stored = await streamOf(sql, id);
      await sql.query('alter table activity disable trigger activity_stream_fetch_moves');
      await sql.query(
        `update activity
         set
           stream_fetch_status = $2, stream_fetch_error = 'no answer', stream_fetch_retry_count = 3,
           stream_fetch_empty_count = 2, stream_fetch_fence = 7, stream_fetch_deferred_until = now()
         where id = $1`,
        [id, status],
      );
      await sql.query('alter table activity enable trigger activity_stream_fetch_moves');
      const answer = await fetches.reset(id);
      expect(answer).toMatchObject({
        activity_id: id,
        athlete_id: athleteId,
        status: 'pending',
        error: null,
        retry_count: 0,
      });
      expect(await state(id)).toMatchObject({
        status: 'pending',
        error: null,
        retries: 0,
        empties: 0,
        fence: 8,
        deferred_until: null,
      });
      expect(await streamOf(sql, id)).toEqual(stored);
      expect(stored).toBeDefined();
      expect(await fetches.claim(id)).toBeDefined();
    });

    it.each<[string, Given]>([
      ['entered by hand', { manual: true }],
      ['unknown to the vendor', { externalId: null }],
    ])('a reset leaves an activity unavailable if it is %s', async (_, given) => {
      const id = await anActivity({ ...used, ...given });
      expect(await fetches.reset(id)).toMatchObject({ status: 'unavailable', error: null, retry_count: 0 });
      expect(await state(id)).toMatchObject({
        status: 'unavailable',
        empties: 0,
        deferred_until: null,
        fence: 8,
      });
      expect(await fetches.claim(id)).toBeUndefined();
    });

    it.each(FETCH_STATUSES)(
      'a reset of an activity that became manual later gives pending, or keeps unavailable: %s',
      async (status) => {
        const id = await anActivity({ ...used, status });
        await sql.query('update activity set manual = true where id = $1', [id]);
        expect((await fetches.reset(id)).status).toBe(status === 'unavailable' ? 'unavailable' : 'pending');
      },
    );

    it('a reset of an unknown activity throws NotFound', async () => {
      await expect(fetches.reset(randomUUID())).rejects.toThrow(NotFound);
    });
  });

  describe('after a cleanup', () => {
    it('the cleanup ends stream fetches of more than 10 minutes, and no younger ones', async () => {
      const [late, inTime] = [
        await anActivity({ status: 'fetching', attempted: '10 minutes 1 second' }),
        await anActivity({ status: 'fetching', attempted: '9 minutes 50 seconds' }),
      ];
      expect(await fetches.cleanUp(STALE_AFTER_MS)).toEqual([{ id: late, athlete_id: athleteId }]);
      expect(await state(late)).toMatchObject({ status: 'failed', retries: 1 });
      expect(await state(inTime)).toMatchObject({ status: 'fetching', fence: 0 });
      expect(await fetches.cleanUp(STALE_AFTER_MS)).toEqual([]);
    });

    it('each cleanup uses one attempt; after three the activity cannot be claimed', async () => {
      const id = await anActivity();
      for (const retries of [1, 2, 3]) {
        await claimed(id);
        await passTime(sql, [id], '11 minutes');
        await fetches.cleanUp(STALE_AFTER_MS);
        expect(await state(id)).toMatchObject({ status: 'failed', retries });
      }
      expect(await fetches.claim(id)).toBeUndefined();
    });

    it('ten simultaneous cleanups end each stale fetch once', async () => {
      const ids = new Set<string>();
      for (let n = 0; n < 60; n += 1)
        ids.add(await anActivity({ status: 'fetching', attempted: `${11 + n} minutes` }));
      const pools = await Promise.all(Array.from({ length: 5 }, () => openPool(open.url)));
      const cleaners = pools.map(({ database }) => new StreamFetches(database, timeScale(1)));
      const taken = (
        await Promise.all([...cleaners, ...cleaners].map((one) => one.cleanUp(STALE_AFTER_MS)))
      ).flat();
      expect(taken).toHaveLength(ids.size);
      expect(new Set(taken.map(({ id }) => id))).toEqual(ids);
      for (const id of ids) expect(await state(id)).toMatchObject({ status: 'failed', retries: 1, fence: 1 });
      await Promise.all(pools.map((pool) => pool.close()));
    });
  });

  describe('a worker that was paused', () => {
    /** Events during the pause; each returns the claim of the successor, if there is one. */
    const TAKEOVERS: Record<string, (id: string) => Promise<FetchClaim | undefined>> = {
      'a cleanup': (id) => cleanedUp(id).then(() => undefined),
      'a reset': (id) => fetches.reset(id).then(() => undefined),
      'a cleanup and another’s claim': (id) => cleanedUp(id).then(() => claimed(id)),
      'a reset and another’s claim': (id) => fetches.reset(id).then(() => claimed(id)),
      'a cleanup, a reset and another’s claim': async (id) => {
        await cleanedUp(id);
        await fetches.reset(id);
        return claimed(id);
      },
    };
    const NAMES = Object.keys(TAKEOVERS);

    async function cleanedUp(id: string): Promise<void> {
      await passTime(sql, [id], '11 minutes');
      expect(await fetches.cleanUp(STALE_AFTER_MS)).toHaveLength(1);
    }

    /** A claim on an activity with stored streams, which a late write could overwrite. */
    async function paused(): Promise<FetchClaim> {
      const id = await anActivity();
      await write('succeed', await claimed(id), 1);
      await fetches.reset(id);
      return claimed(id);
    }

    it.each(NAMES.flatMap((name) => OUTCOMES.map((how) => [how, name] as const)))(
      'a late %s of a paused worker changes nothing after %s',
      async (how, name) => {
        const sleeper = await paused();
        await TAKEOVERS[name]!(sleeper.id);
        const before = await rowsOf(sleeper.id);
        expect(before.stream).toBeDefined();
        expect(await write(how, sleeper, 666)).toBe(false);
        expect(await rowsOf(sleeper.id)).toEqual(before);
      },
    );

    it.each(
      NAMES.slice(2).flatMap((name) =>
        OUTCOMES.flatMap((late) => OUTCOMES.map((own) => [own, late, name] as const)),
      ),
    )(
      'the successor writes %s, and a late %s is rejected before and after that write: %s',
      async (own, late, name) => {
        const sleeper = await paused();
        const successor = (await TAKEOVERS[name]!(sleeper.id))!;
        expect(await write(late, sleeper, 666)).toBe(false);
        expect(await write(own, successor, 2)).toBe(true);
        const before = await rowsOf(sleeper.id);
        expect(before.state.status).toBe(STATUS_AFTER[own]);
        expect(before.stream!.stream_data).toMatchObject({ watts: [own === 'succeed' ? 2 : 1, null] });
        expect(await write(late, sleeper, 666)).toBe(false);
        expect(await rowsOf(sleeper.id)).toEqual(before);
      },
    );

    it.each(OUTCOMES)(
      'a cleanup does not change an outcome that was written just before it: %s',
      async (how) => {
        const { id, ...claim } = await paused();
        await passTime(sql, [id], '11 minutes');
        expect(await write(how, { id, ...claim }, 2)).toBe(true);
        const before = await rowsOf(id);
        expect(await fetches.cleanUp(STALE_AFTER_MS)).toEqual([]);
        expect(await rowsOf(id)).toEqual(before);
      },
    );

    it.each(OUTCOMES)(
      'a reset after a written outcome changes the state and keeps the streams: %s',
      async (how) => {
        const claim = await paused();
        expect(await write(how, claim, 2)).toBe(true);
        const { stream } = await rowsOf(claim.id);
        await fetches.reset(claim.id);
        expect(await rowsOf(claim.id)).toMatchObject({ state: { status: 'pending' }, stream });
        expect(await write(how, claim, 666)).toBe(false);
        expect((await rowsOf(claim.id)).stream).toEqual(stream);
      },
    );

    it.each(['cleanUp', 'reset'] as const)(
      'a write that waited for a concurrent %s changes nothing',
      async (takeover) => {
        const sleeper = await paused();
        await passTime(sql, [sleeper.id], '11 minutes');
        let late: Promise<boolean> | undefined;
        await sql.transaction(async (inside) => {
          const other = new StreamFetches(inside as Database, timeScale(1));
          await (takeover === 'reset' ? other.reset(sleeper.id) : other.cleanUp(STALE_AFTER_MS));
          late = write('succeed', sleeper, 666);
          await aLockIsAwaited();
        });
        const before = await rowsOf(sleeper.id);
        expect(await late).toBe(false);
        expect(await rowsOf(sleeper.id)).toEqual(before);
        expect(before.stream!.stream_data).toMatchObject({ watts: [1, null] });
      },
    );

    it('a cleanup that waited for a concurrent write changes nothing', async () => {
      const worker = await paused();
      await passTime(sql, [worker.id], '11 minutes');
      let cleaning: Promise<unknown> | undefined;
      await sql.transaction(async (inside) => {
        expect(await write('succeed', worker, 2, new StreamFetches(inside as Database, timeScale(1)))).toBe(
          true,
        );
        cleaning = fetches.cleanUp(STALE_AFTER_MS);
        await aLockIsAwaited();
      });
      expect(await cleaning).toEqual([]);
      expect(await state(worker.id)).toMatchObject({ status: 'success', fence: Number(worker.fence) });
    });
  });

  describe('a deleted activity', () => {
    it.each(OUTCOMES)('the write %s after the deletion of the activity changes nothing', async (how) => {
      const id = await anActivity();
      const claim = await claimed(id);
      await sql.query('delete from activity where id = $1', [id]);
      expect(await write(how, claim)).toBe(false);
      expect(await streamOf(sql, id)).toBeUndefined();
    });

    it('a write that waited for the deletion of the activity stores nothing', async () => {
      const id = await anActivity();
      const claim = await claimed(id);
      let writing: Promise<boolean> | undefined;
      await sql.transaction(async (inside) => {
        await inside.query('delete from activity where id = $1', [id]);
        writing = write('succeed', claim);
        await aLockIsAwaited();
      });
      expect(await writing).toBe(false);
      expect(await streamOf(sql, id)).toBeUndefined();
    });

    it('a deletion of the activity that waited for a write removes the streams', async () => {
      const id = await anActivity();
      const claim = await claimed(id);
      let deleting: Promise<unknown> | undefined;
      await sql.transaction(async (inside) => {
        await write('succeed', claim, 1, new StreamFetches(inside as Database, timeScale(1)));
        deleting = sql.query('delete from activity where id = $1', [id]);
        await aLockIsAwaited();
      });
      await deleting;
      expect(await streamOf(sql, id)).toBeUndefined();
    });
  });

  async function aLockIsAwaited(): Promise<void> {
    const waiting = `
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually('a statement waits for a lock', async () => (await sql.query(waiting)).count > 0);
  }
});

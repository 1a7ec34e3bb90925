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
import { type Claim, FETCH_STATUSES, type FetchStatus } from './fetch-state.js';
import { STALE_AFTER_MS } from './retry-policy.js';
import { StreamFetches } from './stream-fetches.js';

type Way = 'always' | 'with a new fence';

/** Where each state leads; what is not here is refused. */
const WAYS: Readonly<Record<FetchStatus, Readonly<Partial<Record<FetchStatus, Way>>>>> = {
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
const MOVES = FETCH_STATUSES.flatMap((from) =>
  FETCH_STATUSES.filter((to) => to !== from).map((to) => [from, to, WAYS[from][to]] as const),
);

const ENDINGS = ['succeed', 'fail', 'defer', 'giveUp'] as const;
type EndingName = (typeof ENDINGS)[number];
const ENDS_AS = { succeed: 'success', fail: 'failed', defer: 'deferred', giveUp: 'unavailable' } as const;

describe('the fetch states of activities', () => {
  let open: OpenDatabase;
  let sql: Database;
  let fetches: StreamFetches;
  let athleteId: string;

  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 8 });
    sql = open.database;
    fetches = new StreamFetches(sql, timeScale(1));
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from activity');
    athleteId = await newAthlete(sql);
  });

  const anActivity = (given: Given = {}) => newActivity(sql, athleteId, given);
  const state = (id: string) => stateOf(sql, id);
  const whole = async (id: string) => ({ state: await stateOf(sql, id), stream: await streamOf(sql, id) });

  async function end(how: EndingName, claim: Claim, watts = 1, by = fetches): Promise<boolean> {
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

  async function claimed(id: string): Promise<Claim> {
    const claim = await fetches.claim(id);
    if (!claim) throw new Error('it could not be claimed');
    return claim;
  }

  describe('as the database guards them', () => {
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

    it.each(MOVES)('%s to %s: %s', async (from, to, way) => {
      for (const byFence of [0, 1]) {
        const id = await anActivity({ status: from, fence: 5 });
        const before = await whole(id);
        const moving = move(id, to, byFence);
        if (way === 'always' || (way && byFence > 0)) {
          await moving;
          expect(await state(id)).toMatchObject({ status: to, fence: 5 + byFence });
        } else {
          const complaint = way ? `${from} to ${to} needs a new fence` : `no way from ${from} to ${to}`;
          await expect(moving).rejects.toThrow(`stream_fetch_status: ${complaint}`);
          expect(await whole(id)).toEqual(before);
        }
      }
    });

    it.each(FETCH_STATUSES)(
      '%s may stay what it is, and its fence may rise but never fall',
      async (status) => {
        const id = await anActivity({ status, fence: 5 });
        await move(id, status, 0);
        await move(id, status, 1);
        await expect(move(id, status, -1)).rejects.toThrow('the fence of a stream fetch never falls');
        expect(await state(id)).toMatchObject({ status, fence: 6 });
      },
    );

    it.each(MOVES)('%s to %s never comes with an older fence', async (from, to) => {
      const id = await anActivity({ status: from, fence: 5 });
      await expect(move(id, to, -1)).rejects.toThrow('the fence of a stream fetch never falls');
    });

    it.each([
      ['an unknown state', `'done'`, 'now()', 'now()', 'activity_stream_fetch_status'],
      ['fetching since nobody knows when', `'fetching'`, 'null', 'null', 'activity_stream_fetch_fetching'],
      ['deferred until nobody knows when', `'deferred'`, 'now()', 'null', 'activity_stream_fetch_deferred'],
    ])('refuses %s', async (_, status, attemptedAt, deferredUntil, constraint) => {
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
    });

    it('are those that the documentation draws', () => {
      const text = readFileSync(new URL('../../../../docs/stream-lifecycle.md', import.meta.url), 'utf8');
      const table = text.split('\n').filter((line) => line.startsWith('|'));
      const cells = (line = '') => line.split('|').map((cell) => cell.trim().replaceAll('`', ''));
      const [, , ...targets] = cells(table[0]).slice(0, -1);
      for (const from of FETCH_STATUSES) {
        const [, , ...ways] = cells(table.find((line) => cells(line)[1] === from));
        const drawn = targets.filter((_, index) => ways[index] !== '');
        expect([from, ...drawn.sort()]).toEqual([from, ...Object.keys(WAYS[from]).sort()]);
      }
    });
  });

  describe('through the functions', () => {
    it.each(FETCH_STATUSES)('a claim of %s', async (status) => {
      const id = await anActivity({
        status,
        fence: 5,
        retries: 1,
        attempted: '1 hour',
        deferredFor: '-1 hour',
      });
      const before = await state(id);
      const claim = await fetches.claim(id);
      if (WAYS[status].fetching) {
        expect(claim).toMatchObject({ id, fence: '6', retry_count: 1 });
        expect(await state(id)).toMatchObject({ status: 'fetching', fence: 6, retries: 1 });
      } else {
        expect(claim).toBeUndefined();
        expect(await state(id)).toEqual(before);
      }
    });

    it.each(FETCH_STATUSES.flatMap((status) => ENDINGS.map((how) => [status, how] as const)))(
      '%s, and then %s with its own fence',
      async (status, how) => {
        const id = await anActivity({ status, fence: 5 });
        const before = await whole(id);
        const isOurs = await end(how, claimOf(id, 5));
        expect(isOurs).toBe(status === 'fetching');
        if (isOurs) expect(await state(id)).toMatchObject({ status: ENDS_AS[how], fence: 5 });
        else expect(await whole(id)).toEqual(before);
      },
    );

    it.each(FETCH_STATUSES)('a cleanup of %s, long after', async (status) => {
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

    it('a claim says when it was, a failure counts, a deferral does not, and what went well clears the error', async () => {
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
      await end('succeed', await claimed(id));
      expect(await state(id)).toMatchObject({
        status: 'success',
        error: null,
        deferred_until: null,
        fence: 4,
      });
    });

    it('giving up clears error and deferral', async () => {
      const id = await anActivity({ status: 'deferred', deferredFor: '-1 second', error: 'nothing yet' });
      await fetches.giveUp(await claimed(id));
      expect(await state(id)).toMatchObject({ status: 'unavailable', error: null, deferred_until: null });
    });
  });

  describe('may be claimed', () => {
    it.each<[string, Given, boolean]>([
      ['at once when nobody has tried', {}, true],
      [
        'not within a minute of the first failure',
        { status: 'failed', retries: 1, attempted: '59 seconds' },
        false,
      ],
      ['a minute after the first failure', { status: 'failed', retries: 1, attempted: '60 seconds' }, true],
      ['not within five of the second', { status: 'failed', retries: 2, attempted: '299 seconds' }, false],
      ['five minutes after the second', { status: 'failed', retries: 2, attempted: '300 seconds' }, true],
      ['never after the third', { status: 'failed', retries: 3, attempted: '10 years' }, false],
      ['never after more', { status: 'failed', retries: 7, attempted: '10 years' }, false],
      ['not while deferred', { status: 'deferred', deferredFor: '1 minute' }, false],
      ['when the deferral is over', { status: 'deferred', deferredFor: '-1 second' }, true],
      [
        'when a deferral is over, however often it failed',
        { status: 'deferred', deferredFor: '0', retries: 9 },
        true,
      ],
      ['not without an id at the vendor', { externalId: null }, false],
      ['not when entered by hand', { manual: true }, false],
    ])('%s', async (_, given, expected) => {
      const id = await anActivity(given);
      await connect(sql, athleteId);
      expect((await fetches.due(athleteId, 10)).map((due) => due.id)).toEqual(expected ? [id] : []);
      expect(await fetches.athletesWithDue()).toEqual(expected ? [athleteId] : []);
      expect((await fetches.claim(id)) !== undefined).toBe(expected);
    });

    it('sooner where time runs faster', async () => {
      const id = await anActivity({ status: 'failed', retries: 1, attempted: '2 seconds' });
      expect(await fetches.claim(id)).toBeUndefined();
      expect(await new StreamFetches(sql, timeScale(60)).claim(id)).toBeDefined();
    });

    it('three times in all, and again after a reset', async () => {
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

    it('by one of many who ask at once', async () => {
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

    it.each(['commits', 'rolls back'])('by whoever waited for another claim that %s', async (how) => {
      const id = await anActivity();
      let second: Promise<Claim | undefined> | undefined;
      const first = sql.transaction(async (inside) => {
        expect(await new StreamFetches(inside as Database, timeScale(1)).claim(id)).toBeDefined();
        second = fetches.claim(id);
        await someoneWaits();
        if (how === 'rolls back') throw new Error('it died');
      });
      await first.catch(() => undefined);
      expect((await second)?.fence).toBe(how === 'commits' ? undefined : '1');
    });

    it('and are told whether the activity has only just ended', async () => {
      const isFresh = async (ended: string) => (await claimed(await anActivity({ ended }))).is_fresh;
      expect(await isFresh('23 hours 59 minutes')).toBe(true);
      expect(await isFresh('24 hours 1 second')).toBe(false);
    });

    it('nowhere else, and only of whom there is', async () => {
      expect(await fetches.claim(randomUUID())).toBeUndefined();
    });
  });

  describe('decide what is due', () => {
    it('the newest first, at most so many, and nobody else’s', async () => {
      const ids = [];
      for (const ended of ['3 days', '1 day', '2 days']) ids.push(await anActivity({ ended }));
      await newActivity(sql, await newAthlete(sql));
      const due = await fetches.due(athleteId, 2);
      expect(due.map(({ id }) => id)).toEqual([ids[1], ids[2]]);
    });

    it('exactly what a claim would get', async () => {
      const times = ['0', '2 minutes', '6 minutes', '1 day'];
      const all: string[] = [];
      for (const status of FETCH_STATUSES)
        for (const attempted of times)
          for (const retries of [0, 1, 2, 3])
            for (const deferredFor of ['-1 minute', '1 minute'])
              all.push(await anActivity({ status, attempted, retries, deferredFor }));
      const due = (await fetches.due(athleteId, 1_000)).map(({ id }) => id);
      const claims = await Promise.all(all.map((id) => fetches.claim(id)));
      expect(due.sort()).toEqual(claims.flatMap((claim) => claim?.id ?? []).sort());
      expect(due.length).toBeGreaterThan(0);
    });

    it('of connected athletes with something due, and of no other', async () => {
      const [idle, gone, refused] = [await newAthlete(sql), await newAthlete(sql), await newAthlete(sql)];
      await anActivity();
      await newActivity(sql, idle, { status: 'success' });
      await newActivity(sql, gone);
      await newActivity(sql, refused);
      await connect(sql, athleteId);
      await connect(sql, idle);
      await connect(sql, refused, 'needs_reauth');
      expect(await fetches.athletesWithDue()).toEqual([athleteId]);
    });
  });

  describe('of what can never be fetched', () => {
    it.each<[string, Given]>([
      ['entered by hand', { manual: true }],
      ['without an id at the vendor', { externalId: null }],
      ['both', { manual: true, externalId: null }],
      ['entered by hand, whatever is said of it', { manual: true, status: 'pending' }],
    ])('are unavailable from the start: %s', async (_, given) => {
      const id = await anActivity(given);
      expect(await state(id)).toMatchObject({ status: 'unavailable', error: null, retries: 0, fence: 0 });
      expect(await fetches.claim(id)).toBeUndefined();
      await connect(sql, athleteId);
      expect(await fetches.due(athleteId, 10)).toEqual([]);
      expect(await fetches.athletesWithDue()).toEqual([]);
    });

    it('were set for the rows that were there before', async () => {
      const older = await openTestDatabase();
      for (let undone: string[] = []; !undone.some((name) => name.startsWith('activity_stream_'));)
        undone = await migrateDown(older.url);
      const owner = await newAthlete(older.database);
      const insert = (externalId: string | null, manual: boolean) =>
        older.database.query(
          `insert into activity (
             athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
             elevation_gain_m, manual, private, total_photo_count, asked_at
           )
           values ($1, $2, '', 'Ride', now(), 1, 1, 1, 1, $3, false, 0, now())`,
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
    const worn: Given = {
      error: 'no answer',
      retries: 3,
      empties: 2,
      fence: 7,
      attempted: '1 hour',
      deferredFor: '1 hour',
    };

    it.each(FETCH_STATUSES)('begin anew, keeping what was stored: %s', async (status) => {
      const id = await anActivity({ status: 'fetching', fence: 6 });
      await end('succeed', claimOf(id, 6));
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
      const told = await fetches.reset(id);
      expect(told).toMatchObject({
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
    ])('stay unavailable where there is nothing to fetch: %s', async (_, given) => {
      const id = await anActivity({ ...worn, ...given });
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
      'do not get stuck where the vendor calls it manual only later: %s',
      async (status) => {
        const id = await anActivity({ ...worn, status });
        await sql.query('update activity set manual = true where id = $1', [id]);
        expect((await fetches.reset(id)).status).toBe(status === 'unavailable' ? 'unavailable' : 'pending');
      },
    );

    it('are those of an activity that exists', async () => {
      await expect(fetches.reset(randomUUID())).rejects.toThrow(NotFound);
    });
  });

  describe('after a cleanup', () => {
    it('are failed for whoever was fetching longer than that, and for nobody else', async () => {
      const [late, inTime] = [
        await anActivity({ status: 'fetching', attempted: '10 minutes 1 second' }),
        await anActivity({ status: 'fetching', attempted: '9 minutes 50 seconds' }),
      ];
      expect(await fetches.cleanUp(STALE_AFTER_MS)).toEqual([{ id: late, athlete_id: athleteId }]);
      expect(await state(late)).toMatchObject({ status: 'failed', retries: 1 });
      expect(await state(inTime)).toMatchObject({ status: 'fetching', fence: 0 });
      expect(await fetches.cleanUp(STALE_AFTER_MS)).toEqual([]);
    });

    it('wait from the attempt on, and are used up after the third', async () => {
      const id = await anActivity();
      for (const retries of [1, 2, 3]) {
        await claimed(id);
        await passTime(sql, [id], '11 minutes');
        await fetches.cleanUp(STALE_AFTER_MS);
        expect(await state(id)).toMatchObject({ status: 'failed', retries });
      }
      expect(await fetches.claim(id)).toBeUndefined();
    });

    it('are each taken back once, however many clean up at the same time', async () => {
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

  describe('are not changed by a worker who was paused', () => {
    /** What may happen to an activity while its worker sleeps; answers who has it then. */
    const INTRUSIONS: Record<string, (id: string) => Promise<Claim | undefined>> = {
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
    const NAMES = Object.keys(INTRUSIONS);

    async function cleanedUp(id: string): Promise<void> {
      await passTime(sql, [id], '11 minutes');
      expect(await fetches.cleanUp(STALE_AFTER_MS)).toHaveLength(1);
    }

    /** With streams from an earlier time, so that there is something to spoil. */
    async function paused(): Promise<Claim> {
      const id = await anActivity();
      await end('succeed', await claimed(id), 1);
      await fetches.reset(id);
      return claimed(id);
    }

    it.each(NAMES.flatMap((name) => ENDINGS.map((how) => [how, name] as const)))(
      '%s after %s',
      async (how, name) => {
        const sleeper = await paused();
        await INTRUSIONS[name]!(sleeper.id);
        const before = await whole(sleeper.id);
        expect(before.stream).toBeDefined();
        expect(await end(how, sleeper, 666)).toBe(false);
        expect(await whole(sleeper.id)).toEqual(before);
      },
    );

    it.each(
      NAMES.slice(2).flatMap((name) =>
        ENDINGS.flatMap((late) => ENDINGS.map((own) => [own, late, name] as const)),
      ),
    )('whose successor writes %s, before and after its late %s: %s', async (own, late, name) => {
      const sleeper = await paused();
      const successor = (await INTRUSIONS[name]!(sleeper.id))!;
      expect(await end(late, sleeper, 666)).toBe(false);
      expect(await end(own, successor, 2)).toBe(true);
      const before = await whole(sleeper.id);
      expect(before.state.status).toBe(ENDS_AS[own]);
      expect(before.stream!.stream_data).toMatchObject({ watts: [own === 'succeed' ? 2 : 1, null] });
      expect(await end(late, sleeper, 666)).toBe(false);
      expect(await whole(sleeper.id)).toEqual(before);
    });

    it.each(ENDINGS)('while one who was just in time keeps its %s through a cleanup', async (how) => {
      const { id, ...claim } = await paused();
      await passTime(sql, [id], '11 minutes');
      expect(await end(how, { id, ...claim }, 2)).toBe(true);
      const before = await whole(id);
      expect(await fetches.cleanUp(STALE_AFTER_MS)).toEqual([]);
      expect(await whole(id)).toEqual(before);
    });

    it.each(ENDINGS)(
      'while one who was just in time with %s loses only the state to a reset',
      async (how) => {
        const claim = await paused();
        expect(await end(how, claim, 2)).toBe(true);
        const { stream } = await whole(claim.id);
        await fetches.reset(claim.id);
        expect(await whole(claim.id)).toMatchObject({ state: { status: 'pending' }, stream });
        expect(await end(how, claim, 666)).toBe(false);
        expect((await whole(claim.id)).stream).toEqual(stream);
      },
    );

    it.each(['cleanUp', 'reset'] as const)('nor by one whose write waited for the %s', async (intrusion) => {
      const sleeper = await paused();
      await passTime(sql, [sleeper.id], '11 minutes');
      let late: Promise<boolean> | undefined;
      await sql.transaction(async (inside) => {
        const intruder = new StreamFetches(inside as Database, timeScale(1));
        await (intrusion === 'reset' ? intruder.reset(sleeper.id) : intruder.cleanUp(STALE_AFTER_MS));
        late = end('succeed', sleeper, 666);
        await someoneWaits();
      });
      const before = await whole(sleeper.id);
      expect(await late).toBe(false);
      expect(await whole(sleeper.id)).toEqual(before);
      expect(before.stream!.stream_data).toMatchObject({ watts: [1, null] });
    });

    it('and a cleanup that waited for a write takes nothing', async () => {
      const worker = await paused();
      await passTime(sql, [worker.id], '11 minutes');
      let cleaning: Promise<unknown> | undefined;
      await sql.transaction(async (inside) => {
        expect(await end('succeed', worker, 2, new StreamFetches(inside as Database, timeScale(1)))).toBe(
          true,
        );
        cleaning = fetches.cleanUp(STALE_AFTER_MS);
        await someoneWaits();
      });
      expect(await cleaning).toEqual([]);
      expect(await state(worker.id)).toMatchObject({ status: 'success', fence: Number(worker.fence) });
    });
  });

  describe('end with their activity', () => {
    it.each(ENDINGS)('so that %s under a claim changes nothing', async (how) => {
      const id = await anActivity();
      const claim = await claimed(id);
      await sql.query('delete from activity where id = $1', [id]);
      expect(await end(how, claim)).toBe(false);
      expect(await streamOf(sql, id)).toBeUndefined();
    });

    it('also while the write waits for the deletion', async () => {
      const id = await anActivity();
      const claim = await claimed(id);
      let writing: Promise<boolean> | undefined;
      await sql.transaction(async (inside) => {
        await inside.query('delete from activity where id = $1', [id]);
        writing = end('succeed', claim);
        await someoneWaits();
      });
      expect(await writing).toBe(false);
      expect(await streamOf(sql, id)).toBeUndefined();
    });

    it('and the deletion that waits for the write takes the streams along', async () => {
      const id = await anActivity();
      const claim = await claimed(id);
      let deleting: Promise<unknown> | undefined;
      await sql.transaction(async (inside) => {
        await end('succeed', claim, 1, new StreamFetches(inside as Database, timeScale(1)));
        deleting = sql.query('delete from activity where id = $1', [id]);
        await someoneWaits();
      });
      await deleting;
      expect(await streamOf(sql, id)).toBeUndefined();
    });
  });

  async function someoneWaits(): Promise<void> {
    const waiting = `
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually('someone waits for a lock', async () => (await sql.query(waiting)).count > 0);
  }
});

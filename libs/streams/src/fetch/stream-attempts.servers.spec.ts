import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { createLogger, type Database, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { STALE_AFTER_MS } from '../lifecycle/retry-policy.js';
import { StreamFetches } from '../lifecycle/stream-fetches.js';
import {
  announce,
  aStored,
  attemptsWith,
  connect,
  FETCHED_AT,
  type Fetched,
  type Given,
  newActivity,
  passTime,
  ScriptedSource,
  stateOf,
  streamOf,
  UNCLAIMED,
} from '../streams.harness.js';
import { type StreamAttempts, type FetchTarget } from './stream-attempts.js';

const CONTEXT = { class: 'backfill', waitMs: 0 } as const;
const MINUTE_MS = 60_000;
const channels = { time: [0, 1], heartrate: [140, null] };
const BUDGET_UNAVAILABLE: Fetched = {
  kind: 'notNow',
  because: 'budgetUnavailable',
  retryAfterMs: 5_000,
  reason: 'the state of the rate limits is unavailable',
};

describe('attempts to fetch streams', () => {
  let open: OpenDatabase;
  let sql: Database;
  let athleteId: string;
  let source: ScriptedSource;
  let fetches: StreamFetches;
  let attempts: StreamAttempts;
  let lines: Array<Record<string, unknown>>;

  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    athleteId = await newAthlete(sql);
  });
  afterAll(() => open.close());
  beforeEach(() => {
    lines = [];
    const destination = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
        done();
      },
    });
    const logger = createLogger({ level: 'info', process: 'test', destination });
    source = new ScriptedSource();
    fetches = new StreamFetches(sql, timeScale(1));
    attempts = attemptsWith(sql, source, logger);
  });
  afterEach(() => register.resetMetrics());

  async function aTarget(given: Given = {}, athlete = athleteId): Promise<FetchTarget> {
    const id = await newActivity(sql, athlete, given);
    return { id, athleteId: athlete, provider: 'strava', externalActivityId: '4711' };
  }
  async function aConnectedTarget(given: Given): Promise<FetchTarget> {
    const athlete = await newAthlete(sql);
    await connect(sql, athlete);
    return aTarget(given, athlete);
  }
  const attemptLines = () => lines.filter(({ msg }) => msg === 'stream fetch attempted');
  const deferredForMs = async (id: string) => {
    const { rows } = await sql.query<{ ms: number }>(
      `select extract(epoch from stream_fetch_deferred_until - now())::float8 * 1000 as ms from activity where id = $1`,
      [id],
    );
    return rows[0]!.ms;
  };
  const count = async (name: string, labels: Record<string, string>) => {
    const metric = await register.getSingleMetric(name)!.get();
    const values = metric.values as Array<{ value: number; labels: Record<string, unknown> }>;
    return (
      values.find((one) => Object.entries(labels).every(([key, value]) => one.labels[key] === value))
        ?.value ?? 0
    );
  };

  interface Expected {
    readonly status: string;
    readonly error: string | null;
    readonly retries?: number;
    readonly deferredMinutes?: number;
  }
  it.each<[string, Fetched, Expected]>([
    ['valid streams', { kind: 'ok', value: channels }, { status: 'success', error: null }],
    [
      'no streams of an old activity',
      { kind: 'gone', reason: 'no streams' },
      { status: 'unavailable', error: null },
    ],
    ['no channels', { kind: 'ok', value: {} }, { status: 'unavailable', error: null }],
    ['channels without samples', { kind: 'ok', value: { time: [] } }, { status: 'unavailable', error: null }],
    [
      'notNow with a time',
      { kind: 'notNow', because: 'limit', retryAfterMs: 7 * MINUTE_MS, reason: 'Strava answered 429' },
      { status: 'deferred', error: 'Strava answered 429', deferredMinutes: 7 },
    ],
    [
      'a disconnected athlete',
      { kind: 'revoked', reason: 'Connect it again' },
      { status: 'deferred', error: 'Connect it again', deferredMinutes: 15 },
    ],
    [
      'an unavailable budget',
      BUDGET_UNAVAILABLE,
      {
        status: 'deferred',
        error: 'Rate-limit state is unavailable; the streams are fetched later',
        deferredMinutes: 15,
      },
    ],
    [
      'a failure',
      { kind: 'broken', because: 'outage', reason: 'status 503' },
      { status: 'failed', error: 'status 503', retries: 1 },
    ],
    [
      'channels of different lengths',
      { kind: 'ok', value: { time: [0, 1], watts: [1] } },
      { status: 'failed', error: 'watts: 1 values, time has 2', retries: 1 },
    ],
    [
      'text instead of numbers',
      { kind: 'ok', value: { time: [0, 1], watts: ['250', 1] } },
      { status: 'failed', error: 'watts: sample 1 is not a number', retries: 1 },
    ],
    [
      'an error body instead of channels',
      { kind: 'ok', value: { message: 'Rate Limit', errors: [] } },
      { status: 'failed', error: 'message: is not a list of samples', retries: 1 },
    ],
  ])(
    'a stream fetch attempt that gets %s writes its state and logs one line',
    async (_, fetched, expected) => {
      const target = await aTarget();
      source.claimAndAnswer(fetched);
      expect(await attempts.attempt(target, CONTEXT)).toMatchObject({
        kind: 'ended',
        status: expected.status,
      });
      const { status, error, retries = 0, deferredMinutes } = { ...expected };
      expect(await stateOf(sql, target.id)).toMatchObject({ status, error, retries, empties: 0, fence: 1 });
      if (deferredMinutes) {
        const inMs = await deferredForMs(target.id);
        expect(inMs).toBeLessThanOrEqual(deferredMinutes * MINUTE_MS);
        expect(inMs).toBeGreaterThan((deferredMinutes - 1) * MINUTE_MS);
      } else expect((await stateOf(sql, target.id)).deferred_until).toBeNull();
      const stream = await streamOf(sql, target.id);
      if (status === 'success')
        expect(stream).toMatchObject({
          stream_data: channels,
          channels_available: ['time', 'heartrate'],
          point_count: 2,
          source: 'strava',
          fetched_at: FETCHED_AT,
        });
      else expect(stream).toBeUndefined();
      expect(attemptLines()).toEqual([
        expect.objectContaining({
          level: 'info',
          activity_id: target.id,
          athlete_id: athleteId,
          status,
          channels_fetched: status === 'success' ? ['time', 'heartrate'] : [],
          point_count: status === 'success' ? 2 : 0,
          error,
          retry_count: retries,
          duration_ms: expect.any(Number),
          rate_budget_remaining: 37,
        }),
      ]);
      expect(await count('stream_fetch_attempts_total', { result: status })).toBe(1);
    },
  );

  it('a stream fetch attempt passes its call context to the source, and claims once if the source calls claim three times', async () => {
    const target = await aTarget();
    source.script = async (claim) => {
      for (let time = 0; time < 3; time += 1) expect(await claim()).toBe(true);
      return { kind: 'ok', value: channels };
    };
    await attempts.attempt(target, { class: 'live', waitMs: 700 });
    expect(source.requests).toMatchObject([
      { athleteId, externalActivityId: '4711', class: 'live', waitMs: 700 },
    ]);
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'success', fence: 1 });
  });

  it.each<[string, Fetched, object]>([
    [
      'there is no permit for 5 ms',
      { kind: 'notNow', because: 'limit', retryAfterMs: 5, reason: 'full' },
      { kind: 'notNow', retryAfterMs: 5 },
    ],
    ['the budget is unavailable', BUDGET_UNAVAILABLE, { kind: 'budgetUnavailable' }],
    ['the athlete left', { kind: 'revoked', reason: 'left' }, { kind: 'impossible', reason: 'left' }],
    [
      'the source fails before the call',
      { kind: 'broken', because: 'outage', reason: 'odd' },
      { kind: 'impossible', reason: 'odd' },
    ],
    ['the claim was refused', UNCLAIMED, { kind: 'unclaimed' }],
  ])('a stream fetch attempt that cannot begin since %s changes nothing', async (_, fetched, outcome) => {
    const target = await aTarget({ status: 'failed', retries: 1, error: 'no answer', attempted: '1 hour' });
    const before = await stateOf(sql, target.id);
    source.answerWithoutClaim(fetched);
    expect(await attempts.attempt(target, CONTEXT)).toEqual(outcome);
    expect(await stateOf(sql, target.id)).toEqual(before);
    expect(attemptLines()).toEqual([]);
  });

  it.each<Fetched>([
    { kind: 'ok', value: channels },
    { kind: 'gone', reason: 'no streams' },
  ])('an answer that a source got without a claim is not stored: $kind', async (fetched) => {
    const target = await aTarget();
    source.answerWithoutClaim(fetched);
    await expect(attempts.attempt(target, CONTEXT)).rejects.toThrow('without a claim');
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'pending', fence: 0 });
    expect(await streamOf(sql, target.id)).toBeUndefined();
  });

  it('a stream fetch attempt does not change an activity that another worker has claimed', async () => {
    const target = await aTarget();
    const other = (await fetches.claim(target.id))!;
    source.claimAndAnswer({ kind: 'ok', value: channels });
    expect(await attempts.attempt(target, CONTEXT)).toEqual({ kind: 'unclaimed' });
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'fetching', fence: Number(other.fence) });
  });

  it('a fresh upload without streams is tried again after 5, 15 and 45 minutes, then it is unavailable', async () => {
    const target = await aTarget({ ended: '1 hour' });
    source.claimAndAnswer({ kind: 'gone', reason: 'no streams' });
    for (const [index, minutes] of [5, 15, 45].entries()) {
      expect(await attempts.attempt(target, CONTEXT)).toMatchObject({ kind: 'ended', status: 'deferred' });
      expect(await stateOf(sql, target.id)).toMatchObject({ retries: 0, empties: index + 1 });
      const inMs = await deferredForMs(target.id);
      expect(inMs).toBeLessThanOrEqual(minutes * MINUTE_MS);
      expect(inMs).toBeGreaterThan((minutes - 1) * MINUTE_MS);
      expect(await attempts.attempt(target, CONTEXT)).toEqual({ kind: 'unclaimed' });
      await passTime(sql, [target.id], `${minutes} minutes`);
    }
    expect(await attempts.attempt(target, CONTEXT)).toMatchObject({ kind: 'ended', status: 'unavailable' });
    expect(attemptLines().map(({ status, retry_count }) => [status, retry_count])).toEqual([
      ['deferred', 0],
      ['deferred', 0],
      ['deferred', 0],
      ['unavailable', 0],
    ]);
  });

  it('empty answers of a fresh upload are counted apart from failures and deferrals', async () => {
    const target = await aTarget({ ended: '1 hour' });
    const outcomes: Fetched[] = [
      { kind: 'gone', reason: 'no streams' },
      { kind: 'notNow', because: 'limit', retryAfterMs: 5 * MINUTE_MS, reason: 'full' },
      { kind: 'broken', because: 'outage', reason: 'status 500' },
      { kind: 'ok', value: {} },
      { kind: 'ok', value: channels },
    ];
    for (const fetched of outcomes) {
      source.claimAndAnswer(fetched);
      expect(await attempts.attempt(target, CONTEXT)).toMatchObject({ kind: 'ended' });
      await passTime(sql, [target.id], '15 minutes');
    }
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'success', retries: 1, empties: 2 });
  });

  it('an empty answer is final for an upload that has become a day old meanwhile', async () => {
    const target = await aTarget({ ended: '23 hours 59 minutes' });
    source.claimAndAnswer({ kind: 'gone', reason: 'no streams' });
    await attempts.attempt(target, CONTEXT);
    await passTime(sql, [target.id], '5 minutes');
    await sql.query(`update activity set start_time = start_time - interval '5 minutes' where id = $1`, [
      target.id,
    ]);
    expect(await attempts.attempt(target, CONTEXT)).toMatchObject({ kind: 'ended', status: 'unavailable' });
  });

  it.each(['3 days', '2000 days'])(
    'an activity that ended %s ago by its device is tried again after an early 404 if its create event has just arrived',
    async (ended) => {
      const target = await aConnectedTarget({ ended });
      await announce(sql, target.id);
      source.claimAndAnswer({ kind: 'gone', reason: 'no streams' });
      for (const minutes of [5, 15, 45]) {
        expect(await attempts.attempt(target, CONTEXT)).toMatchObject({ kind: 'ended', status: 'deferred' });
        await passTime(sql, [target.id], `${minutes} minutes`);
      }
      expect(await attempts.attempt(target, CONTEXT)).toMatchObject({ status: 'unavailable' });
    },
  );

  it.each([
    ['without an event', undefined],
    ['whose create event arrived more than a day ago', { ago: '24 hours 1 second' }],
    ['that was edited now', { aspect: 'update' }],
  ] as const)('the first 404 is final for an old activity %s', async (_, event) => {
    const target = await aConnectedTarget({ ended: '3 days' });
    // Another activity of the same athlete is new.
    await announce(sql, (await aTarget({ ended: '3 days' }, target.athleteId)).id);
    if (event) await announce(sql, target.id, event);
    source.claimAndAnswer({ kind: 'gone', reason: 'no streams' });
    expect(await attempts.attempt(target, CONTEXT)).toMatchObject({ kind: 'ended', status: 'unavailable' });
  });

  it('the log line of a failed stream fetch counts this failure too', async () => {
    const target = await aTarget({ status: 'failed', retries: 2, attempted: '1 hour' });
    source.claimAndAnswer({ kind: 'broken', because: 'outage', reason: 'status 500' });
    await attempts.attempt(target, CONTEXT);
    expect(attemptLines()).toMatchObject([{ status: 'failed', retry_count: 3, error: 'status 500' }]);
    expect(await stateOf(sql, target.id)).toMatchObject({ retries: 3 });
  });

  it('a stream fetch attempt changes nothing if the source throws before the claim', async () => {
    const target = await aTarget();
    source.script = () => Promise.reject(new Error('secret of a stack'));
    await expect(attempts.attempt(target, CONTEXT)).rejects.toThrow('secret of a stack');
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'pending', fence: 0 });
    expect(attemptLines()).toEqual([]);
  });

  it('a stream fetch attempt is written as failed, without the error text, if the source throws after the claim', async () => {
    const target = await aTarget();
    source.script = async (claim) => {
      await claim();
      throw new Error('secret of a stack');
    };
    await expect(attempts.attempt(target, CONTEXT)).rejects.toThrow('secret of a stack');
    expect(await stateOf(sql, target.id)).toMatchObject({
      status: 'failed',
      error: 'An internal error',
      retries: 1,
    });
    expect(attemptLines()).toMatchObject([{ status: 'failed', error: 'An internal error', retry_count: 1 }]);
  });

  it('a stream fetch attempt is written as failed, and stores nothing, if Postgres rejects the row', async () => {
    const target = await aTarget();
    await sql.query('alter table activity_stream add constraint full_up check (point_count <> 3)');
    source.claimAndAnswer({ kind: 'ok', value: { time: [0, 1, 2] } });
    await expect(attempts.attempt(target, CONTEXT)).rejects.toThrow('full_up');
    await sql.query('alter table activity_stream drop constraint full_up');
    expect(await stateOf(sql, target.id)).toMatchObject({
      status: 'failed',
      error: 'An internal error',
      retries: 1,
    });
    expect(await streamOf(sql, target.id)).toBeUndefined();
  });

  it('the cleanup ends a stream fetch attempt whose outcome cannot be written', async () => {
    const target = await aTarget();
    await sql.query(
      `alter table activity add constraint shut check (stream_fetch_status <> 'failed') not valid`,
    );
    source.claimAndAnswer({ kind: 'broken', because: 'outage', reason: 'status 500' });
    await expect(attempts.attempt(target, CONTEXT)).rejects.toThrow('shut');
    await sql.query('alter table activity drop constraint shut');
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'fetching', retries: 0 });
    expect(lines).toMatchObject([{ level: 'warn', activity_id: target.id }]);
    await passTime(sql, [target.id], '11 minutes');
    expect(await fetches.cleanUp(STALE_AFTER_MS)).toEqual([{ id: target.id, athlete_id: athleteId }]);
  });

  it.each<[string, Fetched]>([
    ['streams', { kind: 'ok', value: channels }],
    ['malformed streams', { kind: 'ok', value: { watts: [1] } }],
    ['none', { kind: 'gone', reason: 'no streams' }],
    ['notNow', { kind: 'notNow', because: 'limit', retryAfterMs: 5 * MINUTE_MS, reason: 'full' }],
    ['a failure', { kind: 'broken', because: 'outage', reason: 'status 500' }],
  ])('a stream fetch that lost its claim changes nothing with %s, and is counted', async (_, fetched) => {
    const target = await aTarget();
    source.script = async (claim) => {
      await claim();
      await passTime(sql, [target.id], '11 minutes');
      await fetches.cleanUp(STALE_AFTER_MS);
      await passTime(sql, [target.id], '1 minute');
      const successor = (await fetches.claim(target.id))!;
      await fetches.succeed(successor, 'strava', FETCHED_AT, await aStored(target.id, 2));
      return fetched;
    };
    expect(await attempts.attempt(target, CONTEXT)).toEqual({ kind: 'fenced' });
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'success', retries: 1, fence: 3 });
    expect(await streamOf(sql, target.id)).toMatchObject({ stream_data: { time: [0, 1], watts: [2, null] } });
    expect(attemptLines()).toMatchObject([
      { status: 'fenced', channels_fetched: [], point_count: 0, error: null },
    ]);
    expect(await count('fence_rejected_total', { kind: 'stream_fetch' })).toBe(1);
    expect(await count('stream_fetch_attempts_total', { result: 'fenced' })).toBe(1);
  });

  it('a stream fetch attempt stores nothing if its activity is deleted meanwhile', async () => {
    const target = await aTarget();
    source.script = async (claim) => {
      await claim();
      await sql.query('delete from activity where id = $1', [target.id]);
      return { kind: 'ok', value: channels };
    };
    expect(await attempts.attempt(target, CONTEXT)).toEqual({ kind: 'fenced' });
    expect(await streamOf(sql, target.id)).toBeUndefined();
  });

  it('a stream fetch attempt succeeds if the remaining budget cannot be read for its log line', async () => {
    const target = await aTarget();
    source.remaining = () => Promise.reject(new Error('the counters are odd'));
    source.claimAndAnswer({ kind: 'ok', value: channels });
    expect(await attempts.attempt(target, CONTEXT)).toMatchObject({ kind: 'ended', status: 'success' });
    expect(attemptLines()).toMatchObject([{ status: 'success', rate_budget_remaining: null }]);
    expect(await count('fence_rejected_total', { kind: 'stream_fetch' })).toBe(0);
  });

  it('a shutdown waits until the answer of a stream fetch under way is stored', async () => {
    const target = await aTarget();
    let answer: (fetched: Fetched) => void = () => undefined;
    source.script = async (claim) => {
      await claim();
      return new Promise((resolve) => (answer = resolve));
    };
    const attempt = attempts.attempt(target, CONTEXT);
    await eventually('the claim', async () => (await stateOf(sql, target.id)).status === 'fetching');
    const stopping = attempts.beforeApplicationShutdown();
    answer({ kind: 'ok', value: channels });
    await stopping;
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'success' });
    expect(await attempt).toMatchObject({ kind: 'ended', status: 'success' });
  });

  it('exactly one of twelve simultaneous attempts for an activity claims it', async () => {
    const target = await aTarget();
    source.claimAndAnswer({ kind: 'ok', value: channels });
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => attempts.attempt(target, CONTEXT)));
    expect(outcomes.filter(({ kind }) => kind === 'ended')).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === 'unclaimed')).toHaveLength(11);
  });
});

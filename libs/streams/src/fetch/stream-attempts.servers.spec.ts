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
  aStored,
  attemptsWith,
  FETCHED_AT,
  type Given,
  newActivity,
  passTime,
  ScriptedSource,
  stateOf,
  streamOf,
} from '../streams.harness.js';
import { type StreamAttempts, type Target } from './stream-attempts.js';
import { type Fetched } from './stream-source.js';

const MANNER = { class: 'backfill', waitMs: 0 } as const;
const MINUTE_MS = 60_000;
const channels = { time: [0, 1], heartrate: [140, null] };

describe('an attempt to fetch streams', () => {
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

  async function aTarget(given: Given = {}): Promise<Target> {
    const id = await newActivity(sql, athleteId, given);
    return { id, athleteId, externalActivityId: '4711' };
  }
  const told = () => lines.filter(({ msg }) => msg === 'stream fetch attempted');
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
    ['streams', { kind: 'answered', channels }, { status: 'success', error: null }],
    ['none of something old', { kind: 'none' }, { status: 'unavailable', error: null }],
    ['no channel at all', { kind: 'answered', channels: {} }, { status: 'unavailable', error: null }],
    [
      'no sample at all',
      { kind: 'answered', channels: { time: [] } },
      { status: 'unavailable', error: null },
    ],
    [
      'later, until then',
      { kind: 'later', reason: 'Strava answered 429', retryAfterMs: 7 * MINUTE_MS },
      { status: 'deferred', error: 'Strava answered 429', deferredMinutes: 7 },
    ],
    [
      'later, some time',
      { kind: 'later', reason: 'No call is left' },
      { status: 'deferred', error: 'No call is left', deferredMinutes: 15 },
    ],
    [
      'that the athlete has left',
      { kind: 'disconnected', reason: 'Connect it again' },
      { status: 'deferred', error: 'Connect it again', deferredMinutes: 15 },
    ],
    [
      'that nobody knows the budget',
      { kind: 'unmetered' },
      { status: 'deferred', error: 'The budget cannot be asked', deferredMinutes: 15 },
    ],
    [
      'a failure',
      { kind: 'failed', reason: 'status 503' },
      { status: 'failed', error: 'status 503', retries: 1 },
    ],
    [
      'channels of different lengths',
      { kind: 'answered', channels: { time: [0, 1], watts: [1] } },
      { status: 'failed', error: 'watts: 1 values, time has 2', retries: 1 },
    ],
    [
      'text where numbers belong',
      { kind: 'answered', channels: { time: [0, 1], watts: ['250', 1] } },
      { status: 'failed', error: 'watts: sample 1 is not a number', retries: 1 },
    ],
    [
      'anything but channels',
      { kind: 'answered', channels: { message: 'Rate Limit', errors: [] } },
      { status: 'failed', error: 'message: is not a list of samples', retries: 1 },
    ],
  ])('that is answered %s ends so, and says it in one line', async (_, fetched, expected) => {
    const target = await aTarget();
    source.answers(fetched);
    expect(await attempts.attempt(target, MANNER)).toMatchObject({ kind: 'ended', status: expected.status });
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
    expect(told()).toEqual([
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
  });

  it('is made as it is wanted, and claimed once however often the source asks', async () => {
    const target = await aTarget();
    source.script = async ({ claim }) => {
      for (let time = 0; time < 3; time += 1) expect(await claim()).toBe(true);
      return { kind: 'answered', channels };
    };
    await attempts.attempt(target, { class: 'live', waitMs: 700 });
    expect(source.asked).toMatchObject([
      { athleteId, externalActivityId: '4711', class: 'live', waitMs: 700 },
    ]);
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'success', fence: 1 });
  });

  it.each<[string, Fetched, object]>([
    [
      'there is no room',
      { kind: 'later', reason: 'full', retryAfterMs: 5 },
      { kind: 'later', retryAfterMs: 5 },
    ],
    ['there is no room', { kind: 'later', reason: 'full' }, { kind: 'later', retryAfterMs: 15 * MINUTE_MS }],
    ['nobody can say', { kind: 'unmetered' }, { kind: 'unmetered' }],
    ['the athlete left', { kind: 'disconnected', reason: 'left' }, { kind: 'impossible', reason: 'left' }],
    ['it cannot be', { kind: 'failed', reason: 'odd' }, { kind: 'impossible', reason: 'odd' }],
    ['it is not wanted', { kind: 'unclaimed' }, { kind: 'unclaimed' }],
  ])('that does not begin because %s leaves everything as it was', async (_, fetched, outcome) => {
    const target = await aTarget({ status: 'failed', retries: 1, error: 'no answer', attempted: '1 hour' });
    const before = await stateOf(sql, target.id);
    source.refuses(fetched);
    expect(await attempts.attempt(target, MANNER)).toEqual(outcome);
    expect(await stateOf(sql, target.id)).toEqual(before);
    expect(told()).toEqual([]);
  });

  it.each<Fetched>([{ kind: 'answered', channels }, { kind: 'none' }])(
    'never stores what came without a claim: $kind',
    async (fetched) => {
      const target = await aTarget();
      source.refuses(fetched);
      await expect(attempts.attempt(target, MANNER)).rejects.toThrow('without a claim');
      expect(await stateOf(sql, target.id)).toMatchObject({ status: 'pending', fence: 0 });
      expect(await streamOf(sql, target.id)).toBeUndefined();
    },
  );

  it('that another has begun is left to the other', async () => {
    const target = await aTarget();
    const other = (await fetches.claim(target.id))!;
    source.answers({ kind: 'answered', channels });
    expect(await attempts.attempt(target, MANNER)).toEqual({ kind: 'unclaimed' });
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'fetching', fence: Number(other.fence) });
  });

  it('of a fresh upload without streams is repeated after 5, 15 and 45 minutes, and then given up', async () => {
    const target = await aTarget({ ended: '1 hour' });
    source.answers({ kind: 'none' });
    for (const [index, minutes] of [5, 15, 45].entries()) {
      expect(await attempts.attempt(target, MANNER)).toMatchObject({ kind: 'ended', status: 'deferred' });
      expect(await stateOf(sql, target.id)).toMatchObject({ retries: 0, empties: index + 1 });
      const inMs = await deferredForMs(target.id);
      expect(inMs).toBeLessThanOrEqual(minutes * MINUTE_MS);
      expect(inMs).toBeGreaterThan((minutes - 1) * MINUTE_MS);
      expect(await attempts.attempt(target, MANNER)).toEqual({ kind: 'unclaimed' });
      await passTime(sql, [target.id], `${minutes} minutes`);
    }
    expect(await attempts.attempt(target, MANNER)).toMatchObject({ kind: 'ended', status: 'unavailable' });
    expect(told().map(({ status, retry_count }) => [status, retry_count])).toEqual([
      ['deferred', 0],
      ['deferred', 0],
      ['deferred', 0],
      ['unavailable', 0],
    ]);
  });

  it('of a fresh upload counts its own patience, whatever else went wrong in between', async () => {
    const target = await aTarget({ ended: '1 hour' });
    const endings: Fetched[] = [
      { kind: 'none' },
      { kind: 'later', reason: 'full', retryAfterMs: 5 * MINUTE_MS },
      { kind: 'failed', reason: 'status 500' },
      { kind: 'answered', channels: {} },
      { kind: 'answered', channels },
    ];
    for (const fetched of endings) {
      source.answers(fetched);
      expect(await attempts.attempt(target, MANNER)).toMatchObject({ kind: 'ended' });
      await passTime(sql, [target.id], '15 minutes');
    }
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'success', retries: 1, empties: 2 });
  });

  it('of what grew old while it was waited for is the last', async () => {
    const target = await aTarget({ ended: '23 hours 59 minutes' });
    source.answers({ kind: 'none' });
    await attempts.attempt(target, MANNER);
    await passTime(sql, [target.id], '5 minutes');
    await sql.query(`update activity set start_time = start_time - interval '5 minutes' where id = $1`, [
      target.id,
    ]);
    expect(await attempts.attempt(target, MANNER)).toMatchObject({ kind: 'ended', status: 'unavailable' });
  });

  it('counts its failures in the line: this one included', async () => {
    const target = await aTarget({ status: 'failed', retries: 2, attempted: '1 hour' });
    source.answers({ kind: 'failed', reason: 'status 500' });
    await attempts.attempt(target, MANNER);
    expect(told()).toMatchObject([{ status: 'failed', retry_count: 3, error: 'status 500' }]);
    expect(await stateOf(sql, target.id)).toMatchObject({ retries: 3 });
  });

  it('whose source breaks before the claim changes nothing', async () => {
    const target = await aTarget();
    source.script = () => Promise.reject(new Error('secret of a stack'));
    await expect(attempts.attempt(target, MANNER)).rejects.toThrow('secret of a stack');
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'pending', fence: 0 });
    expect(told()).toEqual([]);
  });

  it('whose source breaks after the claim is a failure, which does not say how', async () => {
    const target = await aTarget();
    source.script = async ({ claim }) => {
      await claim();
      throw new Error('secret of a stack');
    };
    await expect(attempts.attempt(target, MANNER)).rejects.toThrow('secret of a stack');
    expect(await stateOf(sql, target.id)).toMatchObject({
      status: 'failed',
      error: 'An internal error',
      retries: 1,
    });
    expect(told()).toMatchObject([{ status: 'failed', error: 'An internal error', retry_count: 1 }]);
  });

  it('whose row Postgres refuses is a failure with nothing stored', async () => {
    const target = await aTarget();
    await sql.query('alter table activity_stream add constraint full_up check (point_count <> 3)');
    source.answers({ kind: 'answered', channels: { time: [0, 1, 2] } });
    await expect(attempts.attempt(target, MANNER)).rejects.toThrow('full_up');
    await sql.query('alter table activity_stream drop constraint full_up');
    expect(await stateOf(sql, target.id)).toMatchObject({
      status: 'failed',
      error: 'An internal error',
      retries: 1,
    });
    expect(await streamOf(sql, target.id)).toBeUndefined();
  });

  it('that can write nothing at all is found by the cleanup', async () => {
    const target = await aTarget();
    await sql.query(
      `alter table activity add constraint shut check (stream_fetch_status <> 'failed') not valid`,
    );
    source.answers({ kind: 'failed', reason: 'status 500' });
    await expect(attempts.attempt(target, MANNER)).rejects.toThrow('shut');
    await sql.query('alter table activity drop constraint shut');
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'fetching', retries: 0 });
    expect(lines).toMatchObject([{ level: 'warn', activity_id: target.id }]);
    await passTime(sql, [target.id], '11 minutes');
    expect(await fetches.cleanUp(STALE_AFTER_MS)).toEqual([{ id: target.id, athlete_id: athleteId }]);
  });

  it.each<[string, Fetched]>([
    ['streams', { kind: 'answered', channels }],
    ['malformed streams', { kind: 'answered', channels: { watts: [1] } }],
    ['none', { kind: 'none' }],
    ['later', { kind: 'later', reason: 'full' }],
    ['a failure', { kind: 'failed', reason: 'status 500' }],
  ])('that slept through its lease changes nothing with %s, and is counted', async (_, fetched) => {
    const target = await aTarget();
    source.script = async ({ claim }) => {
      await claim();
      await passTime(sql, [target.id], '11 minutes');
      await fetches.cleanUp(STALE_AFTER_MS);
      await passTime(sql, [target.id], '1 minute');
      const successor = (await fetches.claim(target.id))!;
      await fetches.succeed(successor, 'strava', FETCHED_AT, await aStored(target.id, 2));
      return fetched;
    };
    expect(await attempts.attempt(target, MANNER)).toEqual({ kind: 'fenced' });
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'success', retries: 1, fence: 3 });
    expect(await streamOf(sql, target.id)).toMatchObject({ stream_data: { time: [0, 1], watts: [2, null] } });
    expect(told()).toMatchObject([{ status: 'fenced', channels_fetched: [], point_count: 0, error: null }]);
    expect(await count('fence_rejected_total', { kind: 'stream_fetch' })).toBe(1);
    expect(await count('stream_fetch_attempts_total', { result: 'fenced' })).toBe(1);
  });

  it('whose activity is deleted meanwhile changes nothing', async () => {
    const target = await aTarget();
    source.script = async ({ claim }) => {
      await claim();
      await sql.query('delete from activity where id = $1', [target.id]);
      return { kind: 'answered', channels };
    };
    expect(await attempts.attempt(target, MANNER)).toEqual({ kind: 'fenced' });
    expect(await streamOf(sql, target.id)).toBeUndefined();
  });

  it('stays stored when nobody can say what is left of the budget', async () => {
    const target = await aTarget();
    source.remaining = () => Promise.reject(new Error('the counters are odd'));
    source.answers({ kind: 'answered', channels });
    expect(await attempts.attempt(target, MANNER)).toMatchObject({ kind: 'ended', status: 'success' });
    expect(told()).toMatchObject([{ status: 'success', rate_budget_remaining: null }]);
    expect(await count('fence_rejected_total', { kind: 'stream_fetch' })).toBe(0);
  });

  it('that has been paid for is stored before the process ends', async () => {
    const target = await aTarget();
    let answer: (fetched: Fetched) => void = () => undefined;
    source.script = async ({ claim }) => {
      await claim();
      return new Promise((resolve) => (answer = resolve));
    };
    const attempt = attempts.attempt(target, MANNER);
    await eventually('the claim', async () => (await stateOf(sql, target.id)).status === 'fetching');
    const stopping = attempts.beforeApplicationShutdown();
    answer({ kind: 'answered', channels });
    await stopping;
    expect(await stateOf(sql, target.id)).toMatchObject({ status: 'success' });
    expect(await attempt).toMatchObject({ kind: 'ended', status: 'success' });
  });

  it('is made once for an activity, however many try', async () => {
    const target = await aTarget();
    source.answers({ kind: 'answered', channels });
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => attempts.attempt(target, MANNER)));
    expect(outcomes.filter(({ kind }) => kind === 'ended')).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === 'unclaimed')).toHaveLength(11);
  });
});

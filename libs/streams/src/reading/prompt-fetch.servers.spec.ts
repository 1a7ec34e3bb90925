import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { createLogger, type Database, NotFound, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { type Replica, Replicas } from '../../../../test/harness/replicas.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { FETCH_STATUSES, StreamFetches } from '../lifecycle/stream-fetches.js';
import {
  aStored,
  attemptsWith,
  type Fetched,
  FETCHED_AT,
  newActivity,
  ScriptedSource,
  stateOf,
  streamsOn,
  UNCLAIMED,
} from '../streams.harness.js';
import { PromptFetch } from './prompt-fetch.js';
import { PromptLimiter } from './prompt-limiter.js';
import { type StreamResult, type Streams } from './streams.js';

// Longer than any step of these tests, so a reader is answered by an event and not by the end of the wait.
const LONG_MS = 30_000;
const answered: Fetched = { kind: 'ok', value: { time: [0, 1] } };

describe('prompt fetch', () => {
  let open: OpenDatabase;
  let sql: Database;
  let athleteId: string;
  let source: ScriptedSource;
  let streams: Streams;
  const replicas = new Replicas();
  let here: Replica;
  let elsewhere: Replica;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    [here, elsewhere] = [await replicas.start(), await replicas.start()];
  });
  afterAll(async () => {
    replicas.end();
    await open.close();
  });
  beforeEach(async () => {
    athleteId = await newAthlete(sql);
    source = new ScriptedSource();
    source.claimAndAnswer(answered);
    streams = newProcess(here);
  });

  function newProcess({ coalescer, redis }: Replica): Streams {
    const logger = createLogger({ level: 'silent', process: 'test' });
    const attempts = attemptsWith(sql, source);
    const share = new PromptLimiter(redis, timeScale(1), logger);
    return streamsOn(sql, new PromptFetch(attempts, share, coalescer, sql, logger));
  }
  const read = (activityId: string, waitMs: number, by = streams): Promise<StreamResult> =>
    by.read({ athleteId, activityId, cut: {}, knownVersions: [], waitMs });
  const followed = async () => {
    const { values } = await register.getSingleMetric('coalesced_requests_total')!.get();
    return values.find(({ labels }) => labels['part'] === 'followed')?.value ?? 0;
  };
  const isFetching = (id: string) => async () => (await stateOf(sql, id)).status === 'fetching';

  it('fetches pending streams with the live call class while a reader waits', async () => {
    const id = await newActivity(sql, athleteId);
    expect(await read(id, LONG_MS)).toMatchObject({ kind: 'stored' });
    expect(source.requests).toMatchObject([{ class: 'live', waitMs: LONG_MS, athleteId }]);
  });

  it('makes one stream fetch attempt for ten readers of an activity in one process', async () => {
    const id = await newActivity(sql, athleteId);
    const readers = Array.from({ length: 10 }, () => read(id, LONG_MS));
    for (const reading of await Promise.all(readers)) expect(reading).toMatchObject({ kind: 'stored' });
    expect(source.requests).toHaveLength(1);
    expect(await stateOf(sql, id)).toMatchObject({ fence: 1 });
  });

  it('makes one stream fetch attempt with one permit for readers in two processes', async () => {
    const id = await newActivity(sql, athleteId);
    const other = newProcess(elsewhere);
    const before = await followed();
    // The source waits here for its permit.
    let grant: () => void = () => undefined;
    const granted = new Promise<void>((resolve) => (grant = resolve));
    source.script = async (claim) => {
      await granted;
      return (await claim()) ? answered : UNCLAIMED;
    };
    const readers = [1, 2, 3].flatMap(() => [read(id, LONG_MS), read(id, LONG_MS, other)]);
    await eventually('a reader shares the attempt', async () => (await followed()) > before);
    grant();
    for (const reading of await Promise.all(readers)) expect(reading).toMatchObject({ kind: 'stored' });
    expect(source.requests).toHaveLength(1);
    expect(await stateOf(sql, id)).toMatchObject({ fence: 1 });
  });

  it('makes one stream fetch for readers in two processes by the claim alone while Redis is away', async () => {
    const id = await newActivity(sql, athleteId);
    const cutOff = await replicas.start();
    cutOff.redis.disconnect();
    const other = newProcess(cutOff);
    const readers = [1, 2, 3].flatMap(() => [read(id, LONG_MS), read(id, LONG_MS, other)]);
    for (const reading of await Promise.all(readers)) expect(reading).toMatchObject({ kind: 'stored' });
    expect(await stateOf(sql, id)).toMatchObject({ fence: 1 });
  });

  it('answers a reader of streams from an attempt that was already under way', async () => {
    const id = await newActivity(sql, athleteId);
    const fetches = new StreamFetches(sql, timeScale(1));
    const claim = (await fetches.claim(id))!;
    const reading = read(id, LONG_MS);
    await fetches.succeed(claim, 'strava', FETCHED_AT, await aStored(id));
    expect(await reading).toMatchObject({ kind: 'stored' });
    expect(source.requests).toEqual([]);
  });

  it('answers the status "fetching" when a reader has waited long enough, and the attempt goes on', async () => {
    const id = await newActivity(sql, athleteId);
    let answer: (fetched: Fetched) => void = () => undefined;
    source.script = async (claim) => {
      await claim();
      return new Promise((resolve) => (answer = resolve));
    };
    const first = read(id, 1);
    await eventually('the claim', isFetching(id));
    expect(await first).toMatchObject({ kind: 'notStored' });
    expect(await read(id, 1)).toMatchObject({ kind: 'notStored', answer: { status: 'fetching' } });
    answer(answered);
    await eventually('the row', async () => (await stateOf(sql, id)).status === 'success');
    expect(await read(id, 0)).toMatchObject({ kind: 'stored' });
  });

  it.each<[Fetched, object]>([
    [{ kind: 'gone', reason: 'no streams' }, { status: 'unavailable' }],
    [
      { kind: 'broken', because: 'outage', reason: 'status 503' },
      { status: 'failed', error: 'status 503' },
    ],
    [
      { kind: 'notNow', because: 'limit', retryAfterMs: 60_000, reason: 'full' },
      { status: 'deferred', error: 'full' },
    ],
  ])('answers a waiting reader with the outcome of the attempt: %j', async (fetched, answer) => {
    const id = await newActivity(sql, athleteId);
    source.claimAndAnswer(fetched);
    expect(await read(id, LONG_MS)).toMatchObject({ kind: 'notStored', answer });
  });

  it.each<Fetched>([
    { kind: 'notNow', because: 'limit', retryAfterMs: 60_000, reason: 'full' },
    { kind: 'notNow', because: 'budgetUnavailable', retryAfterMs: 5_000, reason: 'unknown' },
    { kind: 'revoked', reason: 'left' },
  ])('answers a waiting reader at once when the attempt cannot begin: $kind', async (fetched) => {
    const id = await newActivity(sql, athleteId);
    source.answerWithoutClaim(fetched);
    expect(await read(id, LONG_MS)).toMatchObject({ kind: 'notStored', answer: { status: 'pending' } });
  });

  it('hides the text of an internal error from a waiting reader', async () => {
    const id = await newActivity(sql, athleteId);
    source.script = async (claim) => {
      await claim();
      throw new Error('secret of a stack');
    };
    expect(await read(id, LONG_MS)).toMatchObject({
      answer: { status: 'failed', error: 'An internal error' },
    });
  });

  it.each(FETCH_STATUSES.filter((status) => status !== 'pending' && status !== 'fetching'))(
    'answers a reader at once, without a fetch, if the state is %s',
    async (status) => {
      const id = await newActivity(sql, athleteId, { status });
      expect(await read(id, LONG_MS)).toMatchObject({ kind: 'notStored', answer: { status } });
      expect(source.requests).toEqual([]);
    },
  );

  it('streams are not fetched for a reader who does not wait, nor for another athlete’s activity', async () => {
    const id = await newActivity(sql, athleteId);
    expect(await read(id, 0)).toMatchObject({ kind: 'notStored', answer: { status: 'pending' } });
    const other = await newAthlete(sql);
    const query = { athleteId: other, activityId: id, cut: {}, knownVersions: [], waitMs: LONG_MS };
    await expect(streams.read(query)).rejects.toThrow(NotFound);
    expect(source.requests).toEqual([]);
  });
});

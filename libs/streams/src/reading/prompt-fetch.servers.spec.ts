import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { createLogger, type Database, NotFound, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { type Replica, Replicas } from '../../../../test/harness/replicas.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type Fetched } from '../fetch/stream-source.js';
import { FETCH_STATUSES } from '../lifecycle/fetch-state.js';
import { StreamFetches } from '../lifecycle/stream-fetches.js';
import {
  aStored,
  attemptsWith,
  FETCHED_AT,
  newActivity,
  ScriptedSource,
  stateOf,
  streamsOn,
} from '../streams.harness.js';
import { PromptFetch } from './prompt-fetch.js';
import { PromptShare } from './prompt-share.js';
import { type Reading, type Streams } from './streams.js';

// Longer than any of this takes: who waits so long waits for what happens, not for the time to be up.
const LONG_MS = 30_000;
const answered: Fetched = { kind: 'answered', channels: { time: [0, 1] } };

describe('a reader who would wait', () => {
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
    athleteId = await newAthlete(sql);
    [here, elsewhere] = [await replicas.start(), await replicas.start()];
  });
  afterAll(async () => {
    replicas.end();
    await open.close();
  });
  beforeEach(() => {
    source = new ScriptedSource();
    source.answers(answered);
    streams = newProcess(here);
  });

  function newProcess({ coalescer }: Replica): Streams {
    const logger = createLogger({ level: 'silent', process: 'test' });
    const attempts = attemptsWith(sql, source);
    const share = new PromptShare(timeScale(1));
    return streamsOn(sql, new PromptFetch(attempts, share, coalescer, source, sql, logger));
  }
  const read = (activityId: string, waitMs: number, by = streams): Promise<Reading> =>
    by.read({ athleteId, activityId, cut: {}, has: [], waitMs });
  const followed = async () => {
    const { values } = await register.getSingleMetric('coalesced_requests_total')!.get();
    return values.find(({ labels }) => labels['part'] === 'followed')?.value ?? 0;
  };
  const isFetching = (id: string) => async () => (await stateOf(sql, id)).status === 'fetching';

  it('gets streams that nobody has fetched yet, as urgently as a person who looks on', async () => {
    const id = await newActivity(sql, athleteId);
    expect(await read(id, LONG_MS)).toMatchObject({ kind: 'stored' });
    expect(source.asked).toMatchObject([{ class: 'live', waitMs: LONG_MS, athleteId }]);
  });

  it('shares one attempt with all others', async () => {
    const id = await newActivity(sql, athleteId);
    const readers = Array.from({ length: 10 }, () => read(id, LONG_MS));
    for (const reading of await Promise.all(readers)) expect(reading).toMatchObject({ kind: 'stored' });
    expect(source.asked).toHaveLength(1);
    expect(await stateOf(sql, id)).toMatchObject({ fence: 1 });
  });

  it('shares it with those in other processes, who need no leave of the budget', async () => {
    const id = await newActivity(sql, athleteId);
    const other = newProcess(elsewhere);
    const before = await followed();
    // Whoever asks the source waits there for the budget's leave.
    let grant: () => void = () => undefined;
    const granted = new Promise<void>((resolve) => (grant = resolve));
    source.script = async ({ claim }) => {
      await granted;
      return (await claim()) ? answered : { kind: 'unclaimed' };
    };
    const readers = [1, 2, 3].flatMap(() => [read(id, LONG_MS), read(id, LONG_MS, other)]);
    await eventually('one that follows', async () => (await followed()) > before);
    grant();
    for (const reading of await Promise.all(readers)) expect(reading).toMatchObject({ kind: 'stored' });
    expect(source.asked).toHaveLength(1);
    expect(await stateOf(sql, id)).toMatchObject({ fence: 1 });
  });

  it('shares it by the claim alone while Redis is away', async () => {
    const id = await newActivity(sql, athleteId);
    const cutOff = await replicas.start();
    cutOff.redis.disconnect();
    const other = newProcess(cutOff);
    const readers = [1, 2, 3].flatMap(() => [read(id, LONG_MS), read(id, LONG_MS, other)]);
    for (const reading of await Promise.all(readers)) expect(reading).toMatchObject({ kind: 'stored' });
    expect(await stateOf(sql, id)).toMatchObject({ fence: 1 });
  });

  it('joins an attempt that is under way', async () => {
    const id = await newActivity(sql, athleteId);
    const fetches = new StreamFetches(sql, timeScale(1));
    const claim = (await fetches.claim(id))!;
    const reading = read(id, LONG_MS);
    await fetches.succeed(claim, 'strava', FETCHED_AT, await aStored(id));
    expect(await reading).toMatchObject({ kind: 'stored' });
    expect(source.asked).toEqual([]);
  });

  it('is told the truth when the time is up, and the attempt goes on without them', async () => {
    const id = await newActivity(sql, athleteId);
    let answer: (fetched: Fetched) => void = () => undefined;
    source.script = async ({ claim }) => {
      await claim();
      return new Promise((resolve) => (answer = resolve));
    };
    const first = read(id, 1);
    await eventually('the claim', isFetching(id));
    expect(await first).toMatchObject({ kind: 'without' });
    expect(await read(id, 1)).toMatchObject({ kind: 'without', answer: { status: 'fetching' } });
    answer(answered);
    await eventually('the row', async () => (await stateOf(sql, id)).status === 'success');
    expect(await read(id, 0)).toMatchObject({ kind: 'stored' });
  });

  it.each<[Fetched, object]>([
    [{ kind: 'none' }, { status: 'unavailable' }],
    [
      { kind: 'failed', reason: 'status 503' },
      { status: 'failed', error: 'status 503' },
    ],
    [
      { kind: 'later', reason: 'full' },
      { status: 'deferred', error: 'full' },
    ],
  ])('is told how it ended: %j', async (fetched, answer) => {
    const id = await newActivity(sql, athleteId);
    source.answers(fetched);
    expect(await read(id, LONG_MS)).toMatchObject({ kind: 'without', answer });
  });

  it.each<Fetched>([
    { kind: 'later', reason: 'full' },
    { kind: 'unmetered' },
    { kind: 'disconnected', reason: 'left' },
  ])('does not wait for an attempt that cannot begin: $kind', async (fetched) => {
    const id = await newActivity(sql, athleteId);
    source.refuses(fetched);
    expect(await read(id, LONG_MS)).toMatchObject({ kind: 'without', answer: { status: 'pending' } });
  });

  it('is not told of an accident of ours but that it failed', async () => {
    const id = await newActivity(sql, athleteId);
    source.script = async ({ claim }) => {
      await claim();
      throw new Error('secret of a stack');
    };
    expect(await read(id, LONG_MS)).toMatchObject({
      answer: { status: 'failed', error: 'An internal error' },
    });
  });

  it.each(FETCH_STATUSES.filter((status) => status !== 'pending' && status !== 'fetching'))(
    'does not wait for what waiting will not change: %s',
    async (status) => {
      const id = await newActivity(sql, athleteId, { status });
      expect(await read(id, LONG_MS)).toMatchObject({ kind: 'without', answer: { status } });
      expect(source.asked).toEqual([]);
    },
  );

  it('asks the vendor nothing unless they wait, nor about what is another’s', async () => {
    const id = await newActivity(sql, athleteId);
    expect(await read(id, 0)).toMatchObject({ kind: 'without', answer: { status: 'pending' } });
    const other = await newAthlete(sql);
    const question = { athleteId: other, activityId: id, cut: {}, has: [], waitMs: LONG_MS };
    await expect(streams.read(question)).rejects.toThrow(NotFound);
    expect(source.asked).toEqual([]);
  });
});

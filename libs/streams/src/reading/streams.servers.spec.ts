import { randomBytes, randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Database, NotFound, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { FETCH_STATUSES, type FetchClaim, StreamFetches } from '../lifecycle/stream-fetches.js';
import { recordings } from '../recording/recording.harness.js';
import { type Recording } from '../recording/recording.js';
import { aStored, FETCHED_AT, newActivity, stateOf, streamOf, streamsOn } from '../streams.harness.js';
import { encode, type Stored, type StreamAnswer } from './answer.js';
import { type Cut } from './cut.js';
import { type StreamResult, type Streams } from './streams.js';

describe('reading streams', () => {
  let open: OpenDatabase;
  let sql: Database;
  let fetches: StreamFetches;
  let athleteId: string;
  const newStreams = (database = sql) => streamsOn(database);

  beforeAll(async () => {
    open = await openTestDatabase([], { statementTimeoutMs: 30_000 });
    sql = open.database;
    fetches = new StreamFetches(sql, timeScale(1));
    athleteId = await newAthlete(sql);
  });
  afterAll(() => open.close());

  async function store(id: string, stored: Stored): Promise<void> {
    if ((await stateOf(sql, id)).status !== 'pending') await fetches.reset(id);
    const claim = (await fetches.claim(id))!;
    expect(await fetches.succeed(claim, 'strava', FETCHED_AT, stored)).toBe(true);
  }
  const storeRecording = async (id: string, recording: Recording) =>
    store(id, await encode(id, 'strava', FETCHED_AT, recording));
  const read = (streams: Streams, activityId: string, cut: Cut = {}, knownVersions: readonly string[] = []) =>
    streams.read({ athleteId, activityId, cut, knownVersions, waitMs: 0 });

  function answerIn(reading: StreamResult): StreamAnswer {
    if (reading.kind !== 'stored') throw new Error(`it is ${reading.kind}`);
    return JSON.parse(gunzipSync(reading.bytes).toString()) as StreamAnswer;
  }

  it('answers and stores any recording exactly as the vendor sent it', async () => {
    const id = await newActivity(sql, athleteId);
    await fc.assert(
      fc.asyncProperty(recordings(), async (recording) => {
        await storeRecording(id, recording);
        for (const streams of [newStreams(), newStreams()])
          for (let time = 0; time < 2; time += 1) {
            const answer = answerIn(await read(streams, id));
            expect(answer.stream_data).toEqual(recording.channels);
            expect(Object.keys(answer.stream_data!)).toEqual(Object.keys(recording.channels));
            expect(answer.point_count).toBe(recording.pointCount);
          }
        expect(await streamOf(sql, id)).toMatchObject({
          stream_data: recording.channels,
          channels_available: Object.keys(recording.channels),
          point_count: recording.pointCount,
        });
      }),
      { numRuns: 150 },
    );
  });

  it.each([3_600, 14_400, 86_400])(
    'answers and stores a recording of %s seconds exactly as the vendor sent it',
    async (seconds) => {
      const id = await newActivity(sql, athleteId);
      const time = Array.from({ length: seconds }, (_, second) => second);
      const watts = time.map((second) => (second % 9 === 0 ? null : (second * 7_919) % 1_009));
      const latlng = time.map((second) => [second / 1_009, -second / 919]);
      await storeRecording(id, { channels: { time, watts, latlng }, pointCount: seconds });
      // As text: jest takes seconds to compare so many numbers.
      const sent = JSON.stringify({ time, watts, latlng });
      expect(JSON.stringify(answerIn(await read(newStreams(), id)).stream_data)).toBe(sent);
      const { rows } = await sql.query<{ is_same: boolean }>(
        'select stream_data = $2::jsonb as is_same from activity_stream where activity_id = $1',
        [id, sent],
      );
      expect(rows).toEqual([{ is_same: true }]);
    },
  );

  it('throws NotFound for another athlete’s streams, also from the cache and with a matching version', async () => {
    const id = await newActivity(sql, athleteId);
    await storeRecording(id, { channels: { time: [0] }, pointCount: 1 });
    const streams = newStreams();
    const reading = await read(streams, id);
    const { version } = reading as { version: string };
    const other = { athleteId: await newAthlete(sql), activityId: id, waitMs: 0 };
    for (const cut of [{}, { points: 2 }, { channels: ['time'] }])
      for (const knownVersions of [[], [version], ['*']]) {
        await read(streams, id, cut);
        await expect(streams.read({ ...other, cut, knownVersions })).rejects.toThrow(NotFound);
      }
    await expect(read(streams, randomUUID())).rejects.toThrow(NotFound);
  });

  it('throws NotFound for streams of a deleted activity, also if they are cached', async () => {
    const id = await newActivity(sql, athleteId);
    await storeRecording(id, { channels: { time: [0] }, pointCount: 1 });
    const streams = newStreams();
    await read(streams, id);
    await sql.query('delete from activity where id = $1', [id]);
    await expect(read(streams, id)).rejects.toThrow(NotFound);
  });

  it('answers the latest stored streams in two processes with caches, for any order of reads, writes and resets', async () => {
    const cuts: readonly Cut[] = [
      {},
      { points: 2 },
      { channels: ['watts'] },
      { channels: ['watts', 'time'], points: 3 },
    ];
    const process = fc.nat(1);
    const event = fc.oneof(
      {
        weight: 2,
        arbitrary: fc.tuple(fc.constant('store' as const), fc.nat(1), fc.integer({ min: 1, max: 9 })),
      },
      { weight: 5, arbitrary: fc.tuple(fc.constant('read' as const), process, fc.nat(7)) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('read again' as const), process, fc.nat(7)) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('reset' as const), fc.nat(1), fc.constant(0)) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 4, maxLength: 25 }), async (events) => {
        const ids = [await newActivity(sql, athleteId), await newActivity(sql, athleteId)];
        const processes = [newStreams(), newStreams()];
        const latest: Array<Stored | undefined> = [undefined, undefined];
        for (const [kind, index, value] of events) {
          if (kind === 'store') {
            const stored = await aStored(ids[index]!, value);
            await store(ids[index]!, stored);
            latest[index] = stored;
          } else if (kind === 'reset') {
            await fetches.reset(ids[index]!);
          } else {
            const which = value % 2;
            const cut = cuts[value >> 1]!;
            const expected = latest[which];
            const known = kind === 'read again' && expected ? [expected.etag] : [];
            const reading = await read(processes[index]!, ids[which]!, cut, known);
            if (!expected) expect(reading.kind).toBe('notStored');
            else if (known.length > 0) expect(reading).toEqual({ kind: 'unchanged', version: expected.etag });
            else {
              expect(reading).toMatchObject({ kind: 'stored', version: expected.etag });
              const { watts } = JSON.parse(expected.streamData) as { watts: unknown };
              expect(answerIn(reading)).toMatchObject({ activity_id: ids[which], stream_data: { watts } });
            }
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('answers "unchanged" to a reader with the current version, and the new streams to a reader with an older version', async () => {
    const id = await newActivity(sql, athleteId);
    const streams = newStreams();
    await store(id, await aStored(id, 1));
    const { version } = (await read(streams, id)) as { version: string };
    expect(await read(streams, id, {}, ['odd', version])).toEqual({ kind: 'unchanged', version });
    await store(id, await aStored(id, 2));
    const newer = await read(streams, id, {}, [version]);
    expect(answerIn(newer).stream_data).toMatchObject({ watts: [2, null] });
    expect(await read(streams, id, {}, ['*'])).toEqual({
      kind: 'unchanged',
      version: (newer as { version: string }).version,
    });
  });

  describe('as a cut', () => {
    const time = Array.from({ length: 1_000 }, (_, second) => second);
    const watts = time.map((second) => (second * 7_919) % 1_009);
    const heartrate = time.map(() => 150);
    let id: string;
    beforeAll(async () => {
      id = await newActivity(sql, athleteId);
      await storeRecording(id, { channels: { time, watts, heartrate }, pointCount: time.length });
    });

    it('a cut keeps the fields that describe the whole recording', async () => {
      const whole = answerIn(await read(newStreams(), id));
      const part = answerIn(await read(newStreams(), id, { channels: ['watts'], points: 10 }));
      expect({ ...part, stream_data: null }).toEqual({ ...whole, stream_data: null });
      expect(Object.keys(part.stream_data!)).toEqual(['watts']);
      expect(part.stream_data!['watts']!.length).toBeLessThanOrEqual(10);
    });

    it('a cut has the same bytes for any order of its channels, cached or not', async () => {
      const streams = newStreams();
      const first = await read(streams, id, { channels: ['watts', 'time'], points: 50 });
      const second = await read(streams, id, { channels: ['time', 'watts', 'time'], points: 50 });
      const third = await read(newStreams(), id, { channels: ['time', 'watts'], points: 50 });
      expect(second).toEqual(first);
      expect(third).toEqual(first);
      expect(Object.keys(answerIn(first).stream_data!)).toEqual(['time', 'watts']);
    });

    it('cached cuts are not mixed up with one another or with the whole recording', async () => {
      const streams = newStreams();
      const cuts: Cut[] = [
        {},
        { channels: ['watts'] },
        { channels: ['time'] },
        { points: 20 },
        { points: 200 },
        {},
      ];
      for (const cut of [...cuts, ...cuts])
        expect(answerIn(await read(streams, id, cut))).toEqual(answerIn(await read(newStreams(), id, cut)));
    });

    it('a cut leaves out unknown channels', async () => {
      const answer = answerIn(
        await read(newStreams(), id, { channels: ['cadence', 'watts', 'constructor'] }),
      );
      expect(answer.stream_data).toEqual({ watts });
      expect(answerIn(await read(newStreams(), id, { channels: ['cadence'] })).stream_data).toEqual({});
    });
  });

  describe('beyond the size of the cache', () => {
    const SIZE = 7 * 1024 * 1024;
    const MANY = 8;
    let ids: string[];
    let bodies: Buffer[];
    beforeAll(async () => {
      bodies = Array.from({ length: MANY }, () => randomBytes(SIZE));
      ids = await Promise.all(bodies.map(() => newActivity(sql, athleteId)));
      for (const [index, body] of bodies.entries())
        await store(ids[index]!, { ...(await aStored(ids[index]!)), body, etag: `version-${index}` });
    });

    it('answers each activity’s own streams if the cache is too small for all activities', async () => {
      const streams = newStreams();
      for (const index of [...bodies.keys(), ...bodies.keys()]) {
        const reading = await read(streams, ids[index]!);
        expect(reading).toMatchObject({ kind: 'stored', version: `version-${index}` });
        expect((reading as { bytes: Buffer }).bytes.equals(bodies[index]!)).toBe(true);
      }
    });

    it('answers the new streams if the old ones are replaced between reading the head and reading the body', async () => {
      let isReplaced = false;
      const newer = randomBytes(SIZE);
      const replaced = {
        query: async (...args: Parameters<Database['query']>) => {
          const [statement] = args;
          const isForBytes = typeof statement !== 'string' && statement.name?.startsWith('find-body');
          if (isForBytes && !isReplaced) {
            isReplaced = true;
            const change = `update activity_stream set etag = 'newer', body = $2 where activity_id = $1`;
            await sql.query(change, [ids[0]!, newer]);
          }
          return sql.query(...args);
        },
      } as Database;
      const reading = await read(newStreams(replaced), ids[0]!);
      expect(reading).toMatchObject({ kind: 'stored', version: 'newer' });
      expect((reading as { bytes: Buffer }).bytes.equals(newer)).toBe(true);
    });
  });

  describe('without stored streams', () => {
    const LEFT = FETCH_STATUSES.filter((status) => status !== 'success');

    it.each(LEFT)(
      'answers state, error and retry time of the fetch without stored streams: %s',
      async (status) => {
        const id = await newActivity(sql, athleteId, {
          status,
          error: 'why',
          retries: 1,
          attempted: '10 seconds',
        });
        const { attempted_at, deferred_until } = await stateOf(sql, id);
        const again = { failed: new Date(attempted_at!.getTime() + 60_000), deferred: deferred_until };
        expect(await read(newStreams(), id, {}, ['*'])).toEqual({
          kind: 'notStored',
          answer: {
            activity_id: id,
            status,
            stream_data: null,
            channels_available: [],
            point_count: 0,
            source: 'strava',
            fetched_at: null,
            error: 'why',
            retry_at: again[status as keyof typeof again]?.toISOString() ?? null,
          },
        });
      },
    );

    it('answers no retry time after the last stream fetch attempt has failed', async () => {
      const id = await newActivity(sql, athleteId, { status: 'failed', retries: 3, attempted: '1 minute' });
      expect(await read(newStreams(), id)).toMatchObject({ answer: { status: 'failed', retry_at: null } });
    });
  });

  describe('after a reset', () => {
    /** Possible outcomes of the new fetch. */
    const ends: ReadonlyArray<[string, (claim: FetchClaim) => Promise<unknown>]> = [
      ['is under way', () => Promise.resolve()],
      ['failed', (claim) => fetches.fail(claim, 'why')],
      ['is deferred', (claim) => fetches.defer(claim, { reason: 'why', forMs: 60_000, isEmpty: false })],
      ['found none', (claim) => fetches.giveUp(claim)],
    ];
    it.each(ends)(
      'after a reset, returns the old streams and their version if the new fetch %s',
      async (_, end) => {
        const id = await newActivity(sql, athleteId);
        await store(id, await aStored(id, 1));
        const { version } = (await read(newStreams(), id)) as { version: string };
        await fetches.reset(id);
        const claim = (await fetches.claim(id))!;
        await end(claim);
        const reading = await read(newStreams(), id);
        expect(answerIn(reading)).toMatchObject({
          status: 'success',
          error: null,
          stream_data: { watts: [1, null] },
        });
        expect(await read(newStreams(), id, {}, [version])).toEqual({ kind: 'unchanged', version });
      },
    );

    it('answers new streams under a new version as soon as the new streams are stored', async () => {
      const id = await newActivity(sql, athleteId);
      const streams = newStreams();
      await store(id, await aStored(id, 1));
      const { version } = (await read(streams, id)) as { version: string };
      await store(id, await aStored(id, 2));
      expect(answerIn(await read(streams, id, {}, [version])).stream_data).toMatchObject({
        watts: [2, null],
      });
    });

    it('raises the input revision of an activity only if the new recording differs', async () => {
      const id = await newActivity(sql, athleteId);
      const revision = async () =>
        (
          await sql.query<{ at: number }>('select input_revision::int as at from activity where id = $1', [
            id,
          ])
        ).rows[0]!.at;
      await store(id, await aStored(id, 1));
      const first = await revision();
      await store(id, await aStored(id, 1, new Date('2026-11-19T09:00:00Z')));
      expect(await revision()).toBe(first);
      await store(id, await aStored(id, 2));
      expect(await revision()).toBe(first + 1);
    });
  });
});

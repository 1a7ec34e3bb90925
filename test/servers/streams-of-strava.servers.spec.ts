import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database } from '#platform';
import { type StreamAttempts } from '#streams';
import {
  announcedLarge,
  brokenOff,
  endless,
  enveloped,
  fault,
  gzipBomb,
  json,
  page,
  type Reply,
  reset,
  StravaDouble,
  truncatedGzip,
} from '../../libs/vendors/src/strava/streams.harness.js';
import { attemptsWith, newActivity, stateOf, streamOf } from '../../libs/streams/src/streams.harness.js';
import { newAthlete } from '../harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../harness/test-database.js';

const time = [0, 1, 2];

/** Tests the whole way from the vendor's bytes to the stored row, through every lib in between. */
describe('malformed answers of Strava to a request for streams', () => {
  let open: OpenDatabase;
  let sql: Database;
  let athleteId: string;
  let strava: StravaDouble;
  let attempts: StreamAttempts;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    athleteId = await newAthlete(sql);
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    strava = await StravaDouble.start(open);
    attempts = attemptsWith(sql, strava.streams());
  });
  afterEach(() => strava.stop());

  async function fetched(...replies: Reply[]): Promise<string> {
    strava.replies = replies;
    const id = await newActivity(sql, athleteId);
    await attempts.attempt(
      { id, athleteId, provider: 'strava', externalActivityId: '4711' },
      { class: 'backfill', waitMs: 0 },
    );
    return id;
  }

  it.each<[string, Reply, string]>([
    ['lengths that differ', enveloped({ time, heartrate: [140, 141] }), 'heartrate: 2 values, time has 3'],
    ['a gap in time', enveloped({ time: [0, null, 2] }), 'time: sample 2 is not a number'],
    ['time that runs back', enveloped({ time: [0, 2, 1] }), 'time: goes backwards at sample 3'],
    ['no time', enveloped({ watts: [1, 2, 3] }), 'time is missing'],
    ['text for a number', enveloped({ time, watts: [1, '250', 3] }), 'watts: sample 2 is not a number'],
    [
      'a number beyond all bounds',
      json('{"time":{"data":[0,1]},"watts":{"data":[1e999,1]}}'),
      'watts: sample 1 is out of range',
    ],
    [
      'an integer that no number can hold',
      json('{"time":{"data":[0]},"watts":{"data":[99999999999999999999]}}'),
      'watts: sample 1 is not a number',
    ],
    ['lists for numbers', enveloped({ time, watts: [[1], [2], [3]] }), 'watts: sample 1 is not a number'],
    ['lists in lists', enveloped({ time: [0], rr: [[[1]]] }), 'rr: sample 1 is neither'],
    ['positions of three', enveloped({ time: [0], latlng: [[1, 2, 3]] }), 'latlng: sample 1 is not a pair'],
    ['an envelope in an envelope', enveloped({ time: { data: [0] } }), 'time: is not a list of samples'],
    ['names that none can have', enveloped({ time: [0], 'a"; --': [1] }), 'channel 2 has an invalid name'],
    [
      'a complaint that says to be fine',
      json({ message: 'Rate Limit', errors: [] }),
      'message: is not a list',
    ],
    ['50 MB, announced', announcedLarge, 'too large'],
    ['50 MB, not announced', endless, 'too large'],
    ['50 MB, zipped', gzipBomb, 'too large'],
    ['a page', page, 'not JSON'],
    ['half of a gzip', truncatedGzip, 'the connection failed'],
    ['half of an answer', brokenOff, 'the connection failed'],
    ['a reset', reset, 'the connection failed'],
    ['500', json('', 500), 'status 500'],
    ['403', json(fault('Activity', 'visibility', 'private'), 403), 'refused the request (403)'],
    ['401, and once more', json('', 401), 'refuses the tokens'],
  ])(
    'streams of Strava fail with a reason for people, and nothing is stored: %s',
    async (_, reply, reason) => {
      const id = await fetched(reply);
      expect(await stateOf(sql, id)).toMatchObject({
        status: 'failed',
        error: expect.stringContaining(reason),
        retries: 1,
      });
      expect(await streamOf(sql, id)).toBeUndefined();
      expect((await strava.ledger()).every((status) => status !== null)).toBe(true);
    },
  );

  it.each<[string, Reply]>([
    ['an empty object', json({})],
    ['channels without a sample', enveloped({ time: [], watts: [] })],
    ['404', json(fault('Activity', 'id', 'not found'), 404)],
  ])('streams of Strava are unavailable: %s', async (_, reply) => {
    const id = await fetched(reply);
    expect(await stateOf(sql, id)).toMatchObject({ status: 'unavailable', error: null });
    expect(await streamOf(sql, id)).toBeUndefined();
  });

  it('a 429 of Strava defers the streams and uses no attempt', async () => {
    const id = await fetched(json('', 429, { 'retry-after': '60' }));
    const { status, error, retries, deferred_until } = await stateOf(sql, id);
    expect({ status, error, retries }).toEqual({
      status: 'deferred',
      error: 'Strava answered 429',
      retries: 0,
    });
    expect(deferred_until!.getTime()).toBeGreaterThan(Date.now() + 55_000);
  });

  it('streams of Strava are stored after a 503 to the first call, with unknown channels and without NUL characters', async () => {
    const id = await fetched(
      json('', 503),
      enveloped({ rr: [[1], [], [2, null]], time, gear: ['39x17', null, 'a\0b'] }),
    );
    expect(await stateOf(sql, id)).toMatchObject({ status: 'success', error: null, retries: 0 });
    expect(await streamOf(sql, id)).toMatchObject({
      stream_data: { time, rr: [[1], [], [2, null]], gear: ['39x17', null, 'ab'] },
      channels_available: ['rr', 'time', 'gear'],
      source: 'strava',
    });
  });
});

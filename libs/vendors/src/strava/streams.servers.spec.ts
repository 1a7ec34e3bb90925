import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type CallContext } from '../call/vendor-calls.js';
import { ageing } from './simulated-strava.harness.js';
import { type StravaApi } from './api.js';
import {
  announcedLarge,
  brokenOff,
  endless,
  enveloped,
  fault,
  gzipBomb,
  SHORT_BOUNDS,
  json,
  page,
  type Reply,
  reset,
  silence,
  StravaDouble,
  truncatedGzip,
} from './streams.harness.js';

const good = enveloped({ time: [0, 1], watts: [200, null] });
const channels = { time: [0, 1], watts: [200, null] };
const UNCLAIMED = { kind: 'notNow', because: 'unclaimed' };
const UNREADABLE = "Strava's answer cannot be read";
const OUTAGE = 'Strava is out of order';
const refusal = json(fault('Athlete', 'access_token', 'invalid'), 401);

describe('StravaApi.streams', () => {
  let open: OpenDatabase;
  let strava: StravaDouble;
  let athleteId: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    athleteId = await newAthlete(open.database);
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    strava = await StravaDouble.start(open);
  });
  afterEach(() => strava.stop());

  const fetched = (api = strava.streams(), more: Partial<CallContext> = {}) => {
    const claim = () => Promise.resolve(true);
    return api.streams({ athleteId, class: 'live', waitMs: 0, claim, ...more }, '4711');
  };

  it('requests all eleven channels of an activity in one call to Strava', async () => {
    strava.replies = [good];
    await fetched();
    expect(strava.requests).toHaveLength(1);
    const url = new URL(strava.requests[0]!.url, 'http://strava.test');
    expect([url.pathname, url.searchParams.get('key_by_type')]).toEqual(['/activities/4711/streams', 'true']);
    expect(url.searchParams.get('keys')!.split(',').sort()).toEqual([
      'altitude',
      'cadence',
      'distance',
      'grade_smooth',
      'heartrate',
      'latlng',
      'moving',
      'temp',
      'time',
      'velocity_smooth',
      'watts',
    ]);
    expect(await strava.ledger()).toEqual([200]);
  });

  // The source returns the channels unchecked; a later step checks the recording.
  it.each<[string, Reply, Record<string, unknown>]>([
    ['channels', good, channels],
    ['unknown channels', enveloped({ time: [0], rr: [[1, 2]] }), { time: [0], rr: [[1, 2]] }],
    ['no channel', json({}), {}],
    ['channels of different lengths', enveloped({ time: [0, 1], watts: [1] }), { time: [0, 1], watts: [1] }],
    ['gaps in time', enveloped({ time: [0, null] }), { time: [0, null] }],
    ['text for numbers', enveloped({ time: ['0'] }), { time: ['0'] }],
    ['a number that overflows', json('{"time":{"data":[1e999]}}'), { time: [Infinity] }],
    ['an envelope in an envelope', enveloped({ time: { data: [0] } }), { time: { data: [0] } }],
    ['channels without an envelope', json({ time: [0], watts: null }), { time: [0], watts: null }],
    ['an error message with status 200', json({ message: 'Rate Limit' }), { message: 'Rate Limit' }],
  ])('returns the streams of Strava unchecked: %s', async (_, reply, expected) => {
    strava.replies = [reply];
    expect(await fetched()).toEqual({ kind: 'ok', value: expected });
  });

  const invalid = `${UNREADABLE}: answer: Invalid input`;
  it.each<[string, Reply, string, readonly number[]]>([
    ['50 MB, announced', announcedLarge, `${UNREADABLE}: too large`, [200]],
    ['50 MB, not announced', endless, `${UNREADABLE}: too large`, [200]],
    ['50 MB, zipped', gzipBomb, `${UNREADABLE}: too large`, [200]],
    ['an HTML page', page, `${UNREADABLE}: not JSON by its type`, [200]],
    ['an HTML page of type JSON', json('<html>'), `${UNREADABLE}: not JSON`, [200]],
    ['truncated JSON', json('{"time":{"data":[0,'), `${UNREADABLE}: not JSON`, [200]],
    ['NaN', json('{"time":{"data":[NaN]}}'), `${UNREADABLE}: not JSON`, [200]],
    ['an empty body', json(''), `${UNREADABLE}: not JSON`, [200]],
    [
      'nesting of 99 levels',
      json(`{"time":${'['.repeat(99)}${']'.repeat(99)}}`),
      `${UNREADABLE}: not JSON`,
      [200],
    ],
    ['nesting of 100,000 levels', json('['.repeat(100_000)), `${UNREADABLE}: not JSON`, [200]],
    ['a list', json([{ type: 'time', data: [0] }]), invalid, [200]],
    ['null', json('null'), invalid, [200]],
    ['a redirect', json('', 302, { location: 'https://elsewhere.test' }), `${UNREADABLE}: status 302`, [302]],
    ['truncated gzip', truncatedGzip, `${OUTAGE}: the connection failed`, [200, 200]],
    ['a truncated answer', brokenOff, `${OUTAGE}: the connection failed`, [200, 200]],
    ['a reset', reset, `${OUTAGE}: the connection failed`, [0, 0]],
    ['500', json('', 500), `${OUTAGE}: status 500`, [500, 500]],
    ['503 with an HTML page', json('<html>', 503), `${OUTAGE}: status 503`, [503, 503]],
    [
      '400',
      json(fault('Stream', 'keys', 'invalid'), 400),
      'Strava refused the request (400): Stream keys invalid',
      [400],
    ],
    [
      '403',
      json(fault('Activity', '', 'private'), 403),
      'Strava refused the request (403): Activity  private',
      [403],
    ],
    [
      '401 for a missing scope',
      json(fault('AccessToken', 'activity:read_permission', 'missing'), 401),
      'Strava refused the request (401): activity:read_permission is missing',
      [401],
    ],
    ['401 twice', refusal, `${OUTAGE}: it refuses the tokens that it issues`, [401, 401]],
  ])(
    'returns a failure with a readable reason if Strava answers with %s',
    async (_, reply, reason, statuses) => {
      strava.replies = [reply];
      const outcome = await fetched();
      expect(outcome).toMatchObject({ reason: expect.stringContaining(reason) });
      expect(await strava.ledger()).toEqual(statuses);
      expect(strava.requests).toHaveLength(statuses.length);
    },
  );

  it('returns broken if Strava does not answer in time', async () => {
    strava.replies = [silence];
    const outcome = await fetched(strava.streams({ bounds: SHORT_BOUNDS }));
    expect(outcome).toMatchObject({ kind: 'broken', reason: `${OUTAGE}: no answer in time` });
    expect(await strava.ledger()).toEqual([0, 0]);
  });

  it.each<[string, Reply, readonly number[]]>([
    ['500', json('', 500), [500, 200]],
    ['a reset', reset, [0, 200]],
    ['truncated gzip', truncatedGzip, [200, 200]],
    ['401', refusal, [401, 200]],
  ])('returns the streams of a second request after one %s of Strava', async (_, reply, statuses) => {
    strava.replies = [reply, good];
    expect(await fetched()).toEqual({ kind: 'ok', value: channels });
    expect(await strava.ledger()).toEqual(statuses);
  });

  it('returns gone if Strava answers 404 to a request for streams', async () => {
    strava.replies = [json(fault('Activity', 'id', 'not found'), 404)];
    expect(await fetched()).toMatchObject({ kind: 'gone' });
    expect(await strava.ledger()).toEqual([404]);
  });

  it('returns revoked if Strava refuses the refresh after a 401', async () => {
    strava.replies = [refusal];
    strava.tokens.isRevoked = true;
    expect(await fetched()).toMatchObject({ kind: 'revoked' });
    expect(strava.requests).toHaveLength(1);
  });

  it('returns notNow if Strava has switched the app off, so that the activity loses no attempt', async () => {
    strava.replies = [json(fault('Application', 'Status', 'Inactive'), 403)];
    expect(await fetched()).toMatchObject({ kind: 'notNow', retryAfterMs: 300_000 });
  });

  it('returns notNow after a 429 of Strava, and sends no other request before its retry time', async () => {
    strava.replies = [json('', 429, { 'retry-after': '77' }), good];
    const streams = strava.streams();
    const outcome = await fetched(streams);
    expect(outcome).toMatchObject({ kind: 'notNow', reason: 'Strava answered 429' });
    expect((outcome as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(76_000);
    expect(await fetched(streams)).toMatchObject({
      kind: 'notNow',
      reason: expect.stringMatching(/^No call to Strava is left/),
    });
    expect(await strava.ledger()).toEqual([429]);
  });

  it.each<[string, Reply, object]>([
    ['500, which is returned as broken', json('', 500), { kind: 'broken', reason: `${OUTAGE}: status 500` }],
    ['401, which is returned as notNow', refusal, { kind: 'notNow' }],
  ])('sends no second request to Strava without a second permit, after a %s', async (_, reply, expected) => {
    await strava.stop();
    strava = await StravaDouble.start(open, 1);
    strava.replies = [reply, good];
    expect(await fetched()).toMatchObject(expected);
    expect(strava.requests).toHaveLength(1);
  });

  it('the reason of a failed stream fetch never contains an access token', async () => {
    const reasons: unknown[] = [];
    for (const reply of [refusal, json('token-0 token-1'), json('token-1', 400), page]) {
      strava.replies = [reply];
      reasons.push(await fetched());
    }
    expect(JSON.stringify(reasons)).not.toMatch(/token-\d/);
  });

  describe('the claim of StravaApi.streams', () => {
    let streams: StravaApi;
    let claims: number;
    const claiming = (...results: ReadonlyArray<boolean | Error>) => {
      claims = 0;
      return () => {
        const result = results[Math.min(claims, results.length - 1)]!;
        claims += 1;
        return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
      };
    };
    beforeEach(() => {
      streams = strava.streams();
      strava.replies = [good];
    });

    it('claims the activity after the permit is granted and before the request to Strava', async () => {
      let seen: unknown;
      const claim = async () => {
        seen = { ledger: await strava.ledger(), requests: strava.requests.length };
        return true;
      };
      await fetched(streams, { claim });
      expect(seen).toEqual({ ledger: [null], requests: 0 });
    });

    it('sends nothing to Strava without the claim, and gives the permit and its slot back', async () => {
      // More attempts than slots.
      for (let time = 0; time < 12; time += 1)
        expect(await fetched(streams, { claim: claiming(false) })).toMatchObject(UNCLAIMED);
      expect([strava.requests, await strava.ledger(), await strava.used()]).toEqual([[], [], 0]);
      expect(await fetched(streams)).toMatchObject({ kind: 'ok' });
    });

    it('gives the permit back if the claim throws', async () => {
      for (let time = 0; time < 12; time += 1)
        await expect(fetched(streams, { claim: claiming(new Error('the row is odd')) })).rejects.toThrow(
          'the row is odd',
        );
      expect([strava.requests, await strava.ledger(), await strava.used()]).toEqual([[], [], 0]);
      expect(await fetched(streams)).toMatchObject({ kind: 'ok' });
    });

    it('StravaApi claims no activity without a permit', async () => {
      await strava.stop();
      strava = await StravaDouble.start(open, 3);
      const used = strava.streams();
      strava.replies = [good];
      for (let time = 0; time < 3; time += 1) await fetched(used);
      const claim = claiming(true);
      expect(await fetched(used, { claim })).toMatchObject({
        kind: 'notNow',
        reason: expect.stringMatching(/^No call to Strava is left/),
      });
      expect([claims, strava.requests.length]).toEqual([0, 3]);
    });

    it('returns budgetUnavailable without a claim if Redis is away, for every call class', async () => {
      strava.loseRedis();
      const claim = claiming(true);
      for (const callClass of ['live', 'backfill'] as const)
        expect(await fetched(streams, { claim, class: callClass })).toMatchObject({
          kind: 'notNow',
          because: 'budgetUnavailable',
        });
      expect([claims, strava.requests, await strava.ledger()]).toEqual([0, [], []]);
    });

    it('claims before each request, and returns the first failure if the second claim is refused', async () => {
      strava.replies = [json('', 500), good];
      const claim = claiming(true, false);
      expect(await fetched(streams, { claim })).toMatchObject({
        kind: 'broken',
        reason: `${OUTAGE}: status 500`,
      });
      expect([claims, await strava.ledger()]).toEqual([2, [500]]);
    });

    it('claims again after a 401 of Strava, and sends nothing more if the claim is refused', async () => {
      strava.replies = [refusal, good];
      const claim = claiming(true, false);
      expect(await fetched(streams, { claim })).toMatchObject(UNCLAIMED);
      expect([claims, await strava.ledger()]).toEqual([2, [401]]);
    });

    it.each([
      ['sends the request', true, { kind: 'ok', value: channels }, [200]],
      ['sends nothing', false, UNCLAIMED, []],
    ] as const)(
      'claims again with a new permit after the first permit grew stale, and %s',
      async (_, second, outcome, statuses) => {
        let isOld = true;
        const budget = ageing(strava.budget, () => {
          const wasOld = isOld;
          isOld = false;
          return wasOld;
        });
        const claim = claiming(true, second);
        expect(await fetched(strava.streams({ budget }), { claim })).toMatchObject(outcome);
        expect([claims, await strava.ledger(), await strava.used()]).toEqual([2, statuses, statuses.length]);
      },
    );
  });
});

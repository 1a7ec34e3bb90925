import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type CallBudget } from '#connections';
import { newAthlete } from '../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { type StravaStreams, type WantedStreams } from './strava-streams.js';
import {
  announcedLarge,
  brokenOff,
  endless,
  enveloped,
  fault,
  gzipBomb,
  HASTY,
  json,
  page,
  type Reply,
  reset,
  silence,
  StravaDouble,
  truncatedGzip,
} from './strava-streams.harness.js';

const good = enveloped({ time: [0, 1], watts: [200, null] });
const channels = { time: [0, 1], watts: [200, null] };
const UNREADABLE = "Strava's answer cannot be read";
const OUTAGE = 'Strava is out of order';
const refusal = json(fault('Athlete', 'access_token', 'invalid'), 401);

describe('Strava as a source of streams', () => {
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

  const wanted = (more: Partial<WantedStreams> = {}): WantedStreams => ({
    athleteId,
    externalActivityId: '4711',
    class: 'live',
    waitMs: 0,
    claim: () => Promise.resolve(true),
    ...more,
  });

  it('asks for all channels in one call', async () => {
    strava.replies = [good];
    await strava.streams().fetch(wanted());
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

  // Whether channels make a recording is not the source's to say: it hands on what came.
  it.each<[string, Reply, Record<string, unknown>]>([
    ['channels', good, channels],
    ['channels nobody has heard of', enveloped({ time: [0], rr: [[1, 2]] }), { time: [0], rr: [[1, 2]] }],
    ['no channel', json({}), {}],
    ['channels of different lengths', enveloped({ time: [0, 1], watts: [1] }), { time: [0, 1], watts: [1] }],
    ['gaps in time', enveloped({ time: [0, null] }), { time: [0, null] }],
    ['text for numbers', enveloped({ time: ['0'] }), { time: ['0'] }],
    ['a number beyond all bounds', json('{"time":{"data":[1e999]}}'), { time: [Infinity] }],
    ['an envelope in an envelope', enveloped({ time: { data: [0] } }), { time: { data: [0] } }],
    ['channels without an envelope', json({ time: [0], watts: null }), { time: [0], watts: null }],
    ['a complaint that says to be fine', json({ message: 'Rate Limit' }), { message: 'Rate Limit' }],
  ])('hands on %s', async (_, reply, expected) => {
    strava.replies = [reply];
    expect(await strava.streams().fetch(wanted())).toEqual({ kind: 'answered', channels: expected });
  });

  const invalid = `${UNREADABLE}: answer: Invalid input`;
  it.each<[string, Reply, string, readonly number[]]>([
    ['50 MB, announced', announcedLarge, `${UNREADABLE}: too large`, [200]],
    ['50 MB, not announced', endless, `${UNREADABLE}: too large`, [200]],
    ['50 MB, zipped', gzipBomb, `${UNREADABLE}: too large`, [200]],
    ['a page', page, `${UNREADABLE}: not JSON by its type`, [200]],
    ['a page that says to be JSON', json('<html>'), `${UNREADABLE}: not JSON`, [200]],
    ['half of the JSON', json('{"time":{"data":[0,'), `${UNREADABLE}: not JSON`, [200]],
    ['NaN', json('{"time":{"data":[NaN]}}'), `${UNREADABLE}: not JSON`, [200]],
    ['nothing', json(''), `${UNREADABLE}: not JSON`, [200]],
    ['depth', json(`{"time":${'['.repeat(99)}${']'.repeat(99)}}`), `${UNREADABLE}: not JSON`, [200]],
    ['great depth', json('['.repeat(100_000)), `${UNREADABLE}: not JSON`, [200]],
    ['a list', json([{ type: 'time', data: [0] }]), invalid, [200]],
    ['null', json('null'), invalid, [200]],
    ['a redirect', json('', 302, { location: 'https://elsewhere.test' }), `${UNREADABLE}: status 302`, [302]],
    ['half of a gzip', truncatedGzip, `${OUTAGE}: the connection failed`, [200, 200]],
    ['half of an answer', brokenOff, `${OUTAGE}: the connection failed`, [200, 200]],
    ['a reset', reset, `${OUTAGE}: the connection failed`, [0, 0]],
    ['500', json('', 500), `${OUTAGE}: status 500`, [500, 500]],
    ['503 and a page', json('<html>', 503), `${OUTAGE}: status 503`, [503, 503]],
    [
      '400',
      json(fault('Stream', 'keys', 'invalid'), 400),
      'Strava refused the request (400): Stream keys invalid',
      [400],
    ],
    [
      '403',
      json(fault('Activity', '', 'private'), 403),
      'Strava does not allow it: Activity  private',
      [403],
    ],
    [
      '401 for want of a scope',
      json(fault('AccessToken', 'activity:read_permission', 'missing'), 401),
      'Strava does not allow it: activity:read_permission is missing',
      [401],
    ],
    ['401, and once more', refusal, `${OUTAGE}: it refuses the tokens that it issues`, [401, 401]],
  ])('fails with a reason for people where the answer is %s', async (_, reply, reason, statuses) => {
    strava.replies = [reply];
    const fetched = await strava.streams().fetch(wanted());
    expect(fetched).toMatchObject({ kind: 'failed', reason: expect.stringContaining(reason) });
    expect(await strava.ledger()).toEqual(statuses);
    expect(strava.requests).toHaveLength(statuses.length);
  });

  it('fails where there is no answer within its time', async () => {
    strava.replies = [silence];
    const fetched = await strava.streams({ bounds: HASTY }).fetch(wanted());
    expect(fetched).toMatchObject({ kind: 'failed', reason: `${OUTAGE}: no answer in time` });
    expect(await strava.ledger()).toEqual([0, 0]);
  });

  it.each<[string, Reply, readonly number[]]>([
    ['500', json('', 500), [500, 200]],
    ['a reset', reset, [0, 200]],
    ['half of a gzip', truncatedGzip, [200, 200]],
    ['401', refusal, [401, 200]],
  ])('gets over one %s', async (_, reply, statuses) => {
    strava.replies = [reply, good];
    expect(await strava.streams().fetch(wanted())).toEqual({ kind: 'answered', channels });
    expect(await strava.ledger()).toEqual(statuses);
  });

  it('has none where the answer is 404', async () => {
    strava.replies = [json(fault('Activity', 'id', 'not found'), 404)];
    expect(await strava.streams().fetch(wanted())).toEqual({ kind: 'none' });
    expect(await strava.ledger()).toEqual([404]);
  });

  it('says that the athlete has left', async () => {
    strava.replies = [refusal];
    strava.tokens.verdict = 'revoked';
    expect(await strava.streams().fetch(wanted())).toMatchObject({ kind: 'disconnected' });
    expect(strava.requests).toHaveLength(1);
  });

  it('is asked later where it has switched the app off: that is no fault of the activity', async () => {
    strava.replies = [json(fault('Application', 'Status', 'Inactive'), 403)];
    expect(await strava.streams().fetch(wanted())).toMatchObject({ kind: 'later', retryAfterMs: 300_000 });
  });

  it('is asked later after a 429, not before it says, and not by others either', async () => {
    strava.replies = [json('', 429, { 'retry-after': '77' }), good];
    const streams = strava.streams();
    const fetched = await streams.fetch(wanted());
    expect(fetched).toMatchObject({ kind: 'later', reason: 'Strava answered 429' });
    expect((fetched as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(76_000);
    expect(await streams.fetch(wanted())).toMatchObject({
      kind: 'later',
      reason: expect.stringMatching(/^No call to Strava is left/),
    });
    expect(await strava.ledger()).toEqual([429]);
  });

  it.each<[string, Reply, object]>([
    ['500 stands: a failure', json('', 500), { kind: 'failed', reason: `${OUTAGE}: status 500` }],
    ['401 says nothing of the streams: later', refusal, { kind: 'later' }],
  ])('with no leave for a second request, a %s', async (_, reply, expected) => {
    await strava.stop();
    strava = await StravaDouble.start(open, 1);
    strava.replies = [reply, good];
    expect(await strava.streams().fetch(wanted())).toMatchObject(expected);
    expect(strava.requests).toHaveLength(1);
  });

  it('never shows a token in a reason', async () => {
    const reasons: unknown[] = [];
    for (const reply of [refusal, json('token-0 token-1'), json('token-1', 400), page]) {
      strava.replies = [reply];
      reasons.push(await strava.streams().fetch(wanted()));
    }
    expect(JSON.stringify(reasons)).not.toMatch(/token-\d/);
  });

  describe('asks for the claim', () => {
    let streams: StravaStreams;
    let claims: number;
    const claiming = (...words: ReadonlyArray<boolean | Error>) => {
      claims = 0;
      return () => {
        const word = words[Math.min(claims, words.length - 1)]!;
        claims += 1;
        return word instanceof Error ? Promise.reject(word) : Promise.resolve(word);
      };
    };
    beforeEach(() => {
      streams = strava.streams();
      strava.replies = [good];
    });

    it('with leave to call in hand, and before the call', async () => {
      let seen: unknown;
      const claim = async () => {
        seen = { ledger: await strava.ledger(), requests: strava.requests.length };
        return true;
      };
      await streams.fetch(wanted({ claim }));
      expect(seen).toEqual({ ledger: [null], requests: 0 });
    });

    it('and sends nothing without it, and gives the leave back, the slot with it', async () => {
      // More than there are slots.
      for (let time = 0; time < 12; time += 1)
        expect(await streams.fetch(wanted({ claim: claiming(false) }))).toEqual({ kind: 'unclaimed' });
      expect([strava.requests, await strava.ledger(), await strava.used()]).toEqual([[], [], 0]);
      expect(await streams.fetch(wanted())).toMatchObject({ kind: 'answered' });
    });

    it('and gives the leave back where it breaks', async () => {
      for (let time = 0; time < 12; time += 1)
        await expect(streams.fetch(wanted({ claim: claiming(new Error('the row is odd')) }))).rejects.toThrow(
          'the row is odd',
        );
      expect([strava.requests, await strava.ledger(), await strava.used()]).toEqual([[], [], 0]);
      expect(await streams.fetch(wanted())).toMatchObject({ kind: 'answered' });
    });

    it('never where there is no leave', async () => {
      await strava.stop();
      strava = await StravaDouble.start(open, 3);
      const used = strava.streams();
      strava.replies = [good];
      for (let time = 0; time < 3; time += 1) await used.fetch(wanted());
      const claim = claiming(true);
      expect(await used.fetch(wanted({ claim }))).toMatchObject({
        kind: 'later',
        reason: expect.stringMatching(/^No call to Strava is left/),
      });
      expect([claims, strava.requests.length]).toEqual([0, 3]);
    });

    it('never where nobody can say what has been spent, however urgent', async () => {
      strava.loseRedis();
      const claim = claiming(true);
      for (const callClass of ['live', 'backfill'] as const)
        expect(await streams.fetch(wanted({ claim, class: callClass }))).toEqual({ kind: 'unmetered' });
      expect([claims, strava.requests, await strava.ledger()]).toEqual([0, [], []]);
    });

    it('before each request, and the first failure stands where the second is not wanted', async () => {
      strava.replies = [json('', 500), good];
      const claim = claiming(true, false);
      expect(await streams.fetch(wanted({ claim }))).toMatchObject({
        kind: 'failed',
        reason: `${OUTAGE}: status 500`,
      });
      expect([claims, await strava.ledger()]).toEqual([2, [500]]);
    });

    it('again after a 401, and sends nothing more where it is not wanted by then', async () => {
      strava.replies = [refusal, good];
      const claim = claiming(true, false);
      expect(await streams.fetch(wanted({ claim }))).toEqual({ kind: 'unclaimed' });
      expect([claims, await strava.ledger()]).toEqual([2, [401]]);
    });

    it.each([
      ['sends', true, { kind: 'answered', channels }, [200]],
      ['does not send', false, { kind: 'unclaimed' }, []],
    ] as const)('again when the leave grew old, and %s', async (_, second, outcome, statuses) => {
      let isOld = true;
      const ageing: CallBudget = {
        acquirePatiently: (call, patience) => strava.budget.acquirePatiently(call, patience),
        isFresh: (permit) => (isOld ? (isOld = false) : strava.budget.isFresh(permit)),
        settle: (permit, status, usage) => strava.budget.settle(permit, status, usage),
        giveBack: (permit) => strava.budget.giveBack(permit),
      };
      const claim = claiming(true, second);
      expect(await strava.streams({ budget: ageing }).fetch(wanted({ claim }))).toEqual(outcome);
      expect([claims, await strava.ledger(), await strava.used()]).toEqual([2, statuses, statuses.length]);
    });
  });

  describe('says what is left of the window', () => {
    it('by the counters', async () => {
      strava.replies = [good];
      const streams = strava.streams();
      const before = (await streams.budgetRemaining())!;
      await streams.fetch(wanted());
      expect(await streams.budgetRemaining()).toBe(before - 1);
    });

    it('or that nobody knows', async () => {
      strava.loseRedis();
      expect(await strava.streams().budgetRemaining()).toBeNull();
    });
  });
});

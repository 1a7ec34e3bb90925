import { describe, expect, it } from '@jest/globals';
import { type CallBudget } from '#connections';
import { Clock, createLogger, timeScale } from '#platform';
import { type Acquisition, type Call, type Permit, type Refused, type Usage } from '#rate-limit';
import { CallAborted, OutboundCaller, type OutboundRequest } from '#reliability';
import { type AccessTokens } from './access-tokens.js';
import { StravaClient, type Who } from './strava-client.js';
import {
  StravaAnswerMalformed,
  StravaAppInactive,
  StravaBudgetUnavailable,
  StravaForbidden,
  StravaNotFound,
  StravaOutage,
  StravaRateLimited,
  StravaRequestRefused,
  StravaTokenRevoked,
} from './strava.errors.js';

const NOW_MS = Date.UTC(2026, 10, 18, 14, 3);
const WHO: Who = { athleteId: 'ann', class: 'live' };
const logger = createLogger({ level: 'silent', process: 'test' });

class StandingClock extends Clock {
  override nowMs = () => NOW_MS;
}

/** Grants everything, unless told otherwise, and writes down what is settled. */
class FakeBudget implements CallBudget {
  readonly calls: Call[] = [];
  readonly settled: Array<{ status: number; usage: readonly Usage[]; retryAfter: number | undefined }> = [];
  instead: Exclude<Acquisition, { kind: 'granted' }> | undefined;
  closes: Refused | undefined;

  readonly waits: number[] = [];

  acquirePatiently(call: Call, { waitMs }: { waitMs: number }): Promise<Acquisition> {
    this.calls.push(call);
    this.waits.push(waitMs);
    if (this.instead) return Promise.resolve(this.instead);
    return Promise.resolve({ kind: 'granted', permit: { call } as Permit });
  }
  isFresh = () => true;
  settle(_permit: Permit, status: number, usage: readonly Usage[], retryAfter?: number) {
    this.settled.push({ status, usage, retryAfter });
    return Promise.resolve(status === 429 ? this.closes : undefined);
  }
  giveBack = () => Promise.resolve();
}

class FakeTokens implements AccessTokens {
  token = 'first';
  readonly refused: string[] = [];
  verdicts: Array<'renewed' | 'revoked'> = [];
  access = () => Promise.resolve({ token: this.token, generation: 0 });
  rejected(_athleteId: string, token: string) {
    this.refused.push(token);
    const verdict = this.verdicts.shift() ?? 'renewed';
    if (verdict === 'renewed') this.token = `after ${token}`;
    return Promise.resolve(verdict);
  }
}

interface Reply {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

function setting(...replies: Reply[]) {
  const budget = new FakeBudget();
  const tokens = new FakeTokens();
  const requests: OutboundRequest[] = [];
  const caller = new OutboundCaller(
    { attemptMs: 1_000, totalMs: 1_000 },
    {
      name: 'strava',
      hosts: ['http://strava.test/api/v3'],
      logger,
      random: () => -0.33,
      exchange: (request, { mayWrite }) => {
        requests.push(request);
        if (!mayWrite()) return Promise.resolve({ kind: 'stale' });
        const {
          status = 200,
          body = '',
          headers,
        } = (replies.length > 1 ? replies.shift() : replies[0]) ?? {};
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        return Promise.resolve({
          kind: 'answered',
          answer: {
            status,
            headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
            body: Buffer.from(text),
          },
        });
      },
    },
  );
  const client = new StravaClient(
    'http://strava.test/api/v3',
    caller,
    budget,
    tokens,
    new StandingClock(),
    timeScale(1),
  );
  return { client, budget, tokens, requests };
}

async function failure(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (error) {
    expect((error as Error).message).not.toMatch(/first|after first/);
    return error as Error;
  }
  throw new Error('it did not fail');
}

const SUMMARY = {
  id: 1,
  name: 'Morning run',
  sport_type: 'Run',
  start_date: '2026-11-17T06:30:00Z',
  elapsed_time: 3_700,
};
const FAULT = (resource: string, field: string, code: string) => ({
  message: 'no',
  errors: [{ resource, field, code }],
});

describe('an activity of Strava', () => {
  const activity = async (wire: unknown) => setting({ body: wire }).client.activity(WHO, '1');

  it('becomes one of ours', async () => {
    const wire = {
      ...SUMMARY,
      distance: 10_021.5,
      moving_time: 3_600.4,
      total_elevation_gain: 85.2,
      timezone: '(GMT+01:00) Europe/Berlin',
      utc_offset: 3_600,
      average_heartrate: 151.2,
      manual: false,
      private: true,
      visibility: 'only_me',
      external_id: 'garmin_push_1',
      upload_id: 77,
      total_photo_count: 2,
      map: { id: 'a1', polyline: 'abc', summary_polyline: 'ac', resource_state: 3 },
      description: 'easy',
      calories: 600.5,
      laps: [{ id: 5 }],
      splits_metric: [{ split: 1 }],
      something_new: { deep: [1] },
    };
    expect(await activity(wire)).toEqual({
      id: '1',
      name: 'Morning run',
      sportType: 'Run',
      startTime: new Date('2026-11-17T06:30:00Z'),
      utcOffsetS: 3_600,
      timezone: 'Europe/Berlin',
      distanceM: 10_021.5,
      movingTimeS: 3_600,
      elapsedTimeS: 3_700,
      elevationGainM: 85.2,
      averageHeartrate: 151.2,
      maxHeartrate: null,
      manual: false,
      private: true,
      visibility: 'only_me',
      externalId: 'garmin_push_1',
      uploadId: '77',
      totalPhotoCount: 2,
      map: { polyline: 'abc', summaryPolyline: 'ac' },
      description: 'easy',
      calories: 600.5,
      laps: [{ id: 5 }],
      splits: [{ split: 1 }],
      raw: wire,
    });
  });

  it('may lack what we can do without', async () => {
    const { sport_type: _sportType, name: _name, ...rest } = SUMMARY;
    expect(await activity({ ...rest, type: 'Ride', map: null, upload_id: null })).toMatchObject({
      name: '',
      sportType: 'Ride',
      movingTimeS: 3_700,
      distanceM: 0,
      timezone: null,
      averageHeartrate: null,
      manual: false,
      uploadId: null,
      map: null,
      laps: [],
    });
  });

  it('keeps an id of any length', async () => {
    const text = JSON.stringify({ ...SUMMARY, upload_id: 2 }).replace('"id":1', '"id":9223372036854775807');
    const { client } = setting({ body: text });
    const { id, raw } = await client.activity(WHO, '9223372036854775807');
    expect([id, raw.id]).toEqual(['9223372036854775807', '9223372036854775807']);
  });

  it.each([
    ['id', undefined],
    ['id', -1],
    ['id', 1.5],
    ['id', 'abc'],
    ['id', { $ne: 1 }],
    ['sport_type', undefined],
    ['sport_type', ''],
    ['start_date', 'yesterday'],
    ['start_date', 1_700_000_000],
    ['elapsed_time', -1],
    ['elapsed_time', 1e12],
    ['elapsed_time', '3700'],
    ['distance', 'far'],
    ['map', 'abc'],
    ['total_photo_count', '2'],
    ['laps', {}],
  ])('is malformed with %s: %j, and the error says where but not what', async (field, value) => {
    const error = await failure(activity({ ...SUMMARY, [field]: value }));
    expect(error).toBeInstanceOf(StravaAnswerMalformed);
    expect(error.message).toContain(`${field}: `);
    if (typeof value === 'string' && value) expect(error.message).not.toContain(value);
  });
});

describe('a request', () => {
  it('carries the token, asks for the page and is charged to its class', async () => {
    const { client, budget, requests } = setting({ body: [SUMMARY] });
    const before = new Date('2026-11-17T06:30:00.500Z');
    await client.listActivities({ ...WHO, class: 'import' }, { before, page: 3, perPage: 500 });
    expect(requests[0]).toMatchObject({
      method: 'GET',
      url: 'http://strava.test/api/v3/athlete/activities?page=3&per_page=200&before=1794897001',
      headers: { authorization: 'Bearer first' },
    });
    expect(budget.calls).toMatchObject([{ class: 'import', endpoint: 'activities', userId: 'ann' }]);
    expect(budget.calls[0]?.holdsSlot).toBeFalsy();
  });

  it('for a detail holds a slot', async () => {
    const { client, budget } = setting({ body: SUMMARY });
    await client.activity(WHO, '1');
    expect(budget.calls).toMatchObject([{ endpoint: 'activity', holdsSlot: true }]);
  });

  it('changes only what it is told to', async () => {
    const { client, budget, requests } = setting({ body: SUMMARY });
    await client.updateActivity(WHO, '1', { description: 'steady' });
    expect(requests[0]).toMatchObject({ method: 'PUT', body: '{"description":"steady"}' });
    expect(budget.calls).toMatchObject([{ endpoint: 'update_activity' }]);
  });

  it.each(['', '../athlete', '1?x=1', '-1', '1/2', '1'.repeat(21)])(
    'is not made for what cannot be an id: %j',
    async (id) => {
      const { client, budget } = setting({ body: SUMMARY });
      expect(await failure(client.activity(WHO, id))).toBeInstanceOf(StravaNotFound);
      expect(budget.calls).toEqual([]);
    },
  );

  it('tells the budget what the answer says of the limits', async () => {
    const headers = { 'x-readratelimit-limit': '100,1000', 'x-readratelimit-usage': '7,70' };
    const { client, budget } = setting({ body: SUMMARY, headers });
    await client.activity(WHO, '1');
    expect(budget.settled).toEqual([
      {
        status: 200,
        usage: [
          { bucket: 'read', window: '15min', limit: 100, used: 7 },
          { bucket: 'read', window: 'day', limit: 1_000, used: 70 },
        ],
        retryAfter: 0,
      },
    ]);
  });

  it('ends in the abort that its caller wanted', async () => {
    const { client } = setting({ body: SUMMARY });
    const who = { ...WHO, signal: AbortSignal.abort() };
    expect(await failure(client.activity(who, '1'))).toBeInstanceOf(CallAborted);
  });
});

describe('photos and streams', () => {
  it('photos are ours, whatever else they carry', async () => {
    const wire = {
      unique_id: 'u-1',
      urls: { 2048: 'https://photos.test/1.jpg' },
      created_at: '2026-11-17T07:00:00Z',
      location: [52.5, 13.4],
      default_photo: true,
      athlete_id: 5,
    };
    const { client } = setting({ body: [wire] });
    expect(await client.photos(WHO, '1')).toEqual([
      {
        id: 'u-1',
        caption: null,
        urls: { 2048: 'https://photos.test/1.jpg' },
        takenAt: new Date('2026-11-17T07:00:00Z'),
        location: [52.5, 13.4],
        isDefault: true,
        raw: wire,
      },
    ]);
  });

  it('streams come as they are', async () => {
    const channels = { time: { data: [0, 1], series_type: 'time' } };
    const { client, requests } = setting({ body: channels });
    expect(await client.streams(WHO, '1', ['time', 'latlng'])).toEqual(channels);
    expect(requests[0]?.url).toContain('/activities/1/streams?keys=time%2Clatlng&key_by_type=true');
  });

  it.each([[[]], ['text'], [null]])('streams that are %j are malformed', async (body) => {
    const { client } = setting({ body: JSON.stringify(body) });
    expect(await failure(client.streams(WHO, '1', ['time']))).toBeInstanceOf(StravaAnswerMalformed);
  });
});

describe('an answer other than hoped for', () => {
  it.each<[string, Reply, new (...args: never[]) => Error]>([
    ['404', { status: 404, body: FAULT('Activity', 'id', 'not found') }, StravaNotFound],
    [
      '403 of a dead app',
      { status: 403, body: FAULT('Application', 'Status', 'Inactive') },
      StravaAppInactive,
    ],
    ['another 403', { status: 403, body: 'no' }, StravaForbidden],
    ['400', { status: 400, body: FAULT('Activity', 'name', 'invalid') }, StravaRequestRefused],
    ['500', { status: 500 }, StravaOutage],
    ['597', { status: 597, body: '<html>' }, StravaOutage],
    ['302', { status: 302, headers: { location: 'https://elsewhere' } }, StravaAnswerMalformed],
    ['nothing', { body: '' }, StravaAnswerMalformed],
    ['204', { status: 204, body: '' }, StravaAnswerMalformed],
    ['half of it', { body: '{"id":1,' }, StravaAnswerMalformed],
    ['a page', { body: '<html>', headers: { 'content-type': 'text/html' } }, StravaAnswerMalformed],
    [
      'JSON that says to be text',
      { body: SUMMARY, headers: { 'content-type': 'text/plain' } },
      StravaAnswerMalformed,
    ],
    ['no type', { body: SUMMARY, headers: { 'content-type': '' } }, StravaAnswerMalformed],
    ['a list', { body: [SUMMARY] }, StravaAnswerMalformed],
    ['null', { body: 'null' }, StravaAnswerMalformed],
    ['depth', { body: '['.repeat(5_000) + ']'.repeat(5_000) }, StravaAnswerMalformed],
    [
      '401 for a scope',
      { status: 401, body: FAULT('AccessToken', 'activity:read_permission', 'missing') },
      StravaForbidden,
    ],
  ])('%s', async (_, reply, kind) => {
    const { client, tokens } = setting(reply);
    expect(await failure(client.activity(WHO, '1'))).toBeInstanceOf(kind);
    expect(tokens.refused).toEqual([]);
  });

  it('does not quote what it could not read', async () => {
    const { client } = setting({ body: 'secret-of-somebody' });
    const error = await failure(client.activity(WHO, '1'));
    expect([error.message, String(error.cause)].join()).not.toContain('secret');
  });
});

describe('a token that Strava refuses', () => {
  const refusal = { status: 401, body: FAULT('Athlete', 'access_token', 'invalid') };

  it('is renewed, and the call made once more as another request', async () => {
    const { client, budget, tokens, requests } = setting(refusal, { body: SUMMARY });
    expect(await client.activity(WHO, '1')).toMatchObject({ id: '1' });
    expect(tokens.refused).toEqual(['first']);
    expect(requests.map(({ headers }) => headers?.authorization)).toEqual([
      'Bearer first',
      'Bearer after first',
    ]);
    expect(budget.settled.map(({ status }) => status)).toEqual([401, 200]);
  });

  it('may be the end of the connection', async () => {
    const { client, tokens, requests } = setting(refusal);
    tokens.verdicts = ['revoked'];
    const error = await failure(client.activity(WHO, '1'));
    expect(error).toBeInstanceOf(StravaTokenRevoked);
    expect([error, requests.length]).toMatchObject([{ athleteId: 'ann' }, 1]);
  });

  it('is asked about again when its successor is refused as well', async () => {
    const { client, tokens, requests } = setting(refusal);
    tokens.verdicts = ['renewed', 'revoked'];
    expect(await failure(client.activity(WHO, '1'))).toBeInstanceOf(StravaTokenRevoked);
    expect([tokens.refused, requests.length]).toEqual([['first', 'after first'], 2]);
  });

  it('is an outage when every token is refused that is issued', async () => {
    const { client, requests } = setting(refusal);
    expect(await failure(client.activity(WHO, '1'))).toBeInstanceOf(StravaOutage);
    expect(requests).toHaveLength(2);
  });
});

describe('a limit', () => {
  it('of ours is told with the moment when it ends', async () => {
    const { client, budget, requests } = setting({ body: SUMMARY });
    budget.instead = { kind: 'refused', window: 'read day', retryAfterMs: 90_500 };
    const error = await failure(client.activity(WHO, '1'));
    expect(error).toBeInstanceOf(StravaRateLimited);
    expect(error).toMatchObject({
      window: 'read day',
      retryAfterMs: 90_500,
      retryAfterSeconds: 91,
      retryAt: new Date(NOW_MS + 90_500),
    });
    expect(requests).toEqual([]);
  });

  it("of Strava's ends when the budget says so, and the call is not repeated", async () => {
    const { client, budget, requests } = setting({ status: 429, headers: { 'retry-after': '60' } });
    budget.closes = { kind: 'refused', window: 'read 15min', retryAfterMs: 720_000 };
    const error = await failure(client.activity(WHO, '1'));
    expect(error).toMatchObject({ window: 'read 15min', retryAt: new Date(NOW_MS + 720_000) });
    expect([requests.length, budget.settled]).toMatchObject([1, [{ status: 429, retryAfter: 60 }]]);
  });

  it("of Strava's of which nobody knows more ends after a window", async () => {
    const { client } = setting({ status: 429 });
    expect(await failure(client.activity(WHO, '1'))).toMatchObject({ retryAfterMs: 900_000 });
  });

  it('that cannot be asked for lets nothing through', async () => {
    const { client, budget, requests } = setting({ body: SUMMARY });
    budget.instead = { kind: 'unavailable' };
    expect(await failure(client.activity(WHO, '1'))).toBeInstanceOf(StravaBudgetUnavailable);
    expect(requests).toEqual([]);
  });

  it('near a boundary is waited for as long as the caller says', async () => {
    const { client, budget } = setting({ body: SUMMARY });
    await client.activity({ ...WHO, waitMs: 7_000 }, '1');
    await client.activity(WHO, '1');
    expect(budget.waits).toEqual([7_000, 0]);
  });
});

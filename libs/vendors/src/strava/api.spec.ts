import { describe, expect, it } from '@jest/globals';
import { type OutboundAnswer } from '#reliability';
import { type CallOutcome } from '../call/call-outcome.js';
import { VendorAnswers } from '../call/vendor-answer.js';
import { type CallContext, type VendorCalls, type VendorRequest } from '../call/vendor-calls.js';
import { StravaApi } from './api.js';
import { readStravaFault } from './wire/fault.js';

const CONTEXT: CallContext = { athleteId: 'ann', class: 'live' };

/** Strava with one scripted answer of status 200; records the requests. */
function setting(body: unknown) {
  const requests: VendorRequest[] = [];
  const answers = new VendorAnswers('Strava', readStravaFault);
  const calls = {
    call: <T>(_: CallContext, request: VendorRequest, parse: (json: unknown) => T) => {
      requests.push(request);
      return Promise.resolve(answers.read(answerOf(200, body), parse));
    },
  } as unknown as VendorCalls;
  return { client: new StravaApi(calls), requests };
}

function answerOf(status: number, body: unknown): OutboundAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: Buffer.from(text) };
}

async function valueOf<T>(outcome: Promise<CallOutcome<T>>): Promise<T> {
  const result = await outcome;
  if (result.kind !== 'ok') throw new Error(result.reason);
  return result.value;
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

describe('StravaApi.activity', () => {
  const outcome = (wire: unknown) => setting(wire).client.activity(CONTEXT, '1');
  const activity = (wire: unknown) => valueOf(outcome(wire));

  it('maps every field of an activity of Strava', async () => {
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
      totalPhotoCount: 2,
      map: { polyline: 'abc', summaryPolyline: 'ac' },
      description: 'easy',
      calories: 600.5,
      laps: [{ id: 5 }],
      splits: [{ split: 1 }],
    });
  });

  it('fills in defaults for the optional fields of an activity of Strava', async () => {
    const { sport_type: _sportType, name: _name, ...rest } = SUMMARY;
    expect(await activity({ ...rest, type: 'Ride', map: null })).toMatchObject({
      name: '',
      sportType: 'Ride',
      movingTimeS: 3_700,
      distanceM: 0,
      timezone: null,
      averageHeartrate: null,
      manual: false,
      map: null,
      laps: [],
    });
  });

  it('keeps every digit of an activity id of 19 digits', async () => {
    const text = JSON.stringify(SUMMARY).replace('"id":1', '"id":9223372036854775807');
    const { client } = setting(text);
    const { id } = await valueOf(client.activity(CONTEXT, '9223372036854775807'));
    expect(id).toBe('9223372036854775807');
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
    ['total_photo_count', 3e9],
    ['moving_time', 3e9],
    ['utc_offset', 3e9],
    ['utc_offset', -3e9],
    ['laps', {}],
  ])(
    'returns malformed for an activity of Strava with %s: %j, and names the field without its value',
    async (field, value) => {
      const failure = await outcome({ ...SUMMARY, [field]: value });
      expect(failure).toMatchObject({ because: 'malformed', reason: expect.stringContaining(`${field}: `) });
      if (typeof value === 'string' && value) expect(JSON.stringify(failure)).not.toContain(value);
    },
  );
});

describe('a request of StravaApi', () => {
  it('lists at most 200 activities of Strava a page, before a second that leaves none out', async () => {
    const { client, requests } = setting([SUMMARY]);
    const before = new Date('2026-11-17T06:30:00.500Z');
    await client.list(CONTEXT, { before, page: 3, perPage: 500 });
    expect(requests).toEqual([
      { endpoint: 'activities', path: '/athlete/activities?page=3&per_page=200&before=1794897001' },
    ]);
  });

  it('takes a slot for a request for an activity’s details', async () => {
    const { client, requests } = setting(SUMMARY);
    await client.activity(CONTEXT, '1');
    expect(requests).toMatchObject([{ endpoint: 'activity', holdsSlot: true }]);
  });

  it('sends only the given fields of a change to Strava, and only once', async () => {
    const { client, requests } = setting(SUMMARY);
    await client.update(CONTEXT, '1', { description: 'steady' });
    expect(requests).toMatchObject([{ method: 'PUT', body: '{"description":"steady"}', repeatable: false }]);
  });

  it.each(['', '../athlete', '1?x=1', '-1', '1/2', '1'.repeat(21)])(
    'returns gone for the impossible activity id %j, without a request',
    async (id) => {
      const { client, requests } = setting(SUMMARY);
      expect(await client.activity(CONTEXT, id)).toMatchObject({ kind: 'gone' });
      expect(requests).toEqual([]);
    },
  );
});

describe('StravaApi.photos', () => {
  it('maps every field of a photo of Strava', async () => {
    const wire = {
      unique_id: 'u-1',
      urls: { 2048: 'https://photos.test/1.jpg' },
      created_at: '2026-11-17T07:00:00Z',
      location: [52.5, 13.4],
      default_photo: true,
      athlete_id: 5,
    };
    const { client } = setting([wire]);
    expect(await valueOf(client.photos(CONTEXT, '1'))).toEqual([
      {
        id: 'u-1',
        caption: null,
        urls: { 2048: 'https://photos.test/1.jpg' },
        takenAt: new Date('2026-11-17T07:00:00Z'),
        location: [52.5, 13.4],
        isDefault: true,
      },
    ]);
  });
});

describe('readStravaFault', () => {
  it.each([
    [401, FAULT('AccessToken', 'activity:read_permission', 'missing'), 'missing scope'],
    [403, FAULT('Application', 'Status', 'Inactive'), 'app inactive'],
    [403, FAULT('Activity', 'visibility', 'private'), undefined],
    [401, FAULT('Athlete', 'access_token', 'invalid'), undefined],
    [403, '<html>', undefined],
  ])('reads the meaning of a %i of Strava: %j', (status, body, means) => {
    expect(readStravaFault(answerOf(status, body)).means).toBe(means);
  });
});

import { expect, it } from '@jest/globals';
import { eventBody, signEvent } from './events.js';

const BODY =
  '{"aspect_type":"create","event_time":1795000000,"object_id":1360128428,"object_type":"activity",' +
  '"owner_id":134815,"subscription_id":120475,"updates":{}}';

it('signEvent answers the lower-case hex HMAC-SHA256 of "t.rawbody" (the published vector)', () => {
  const signature = signEvent('strava-signing-secret', 1795000000, BODY);
  expect(signature).toBe('t=1795000000,v1=f1e44f81e76902600b5a3e7ae05aa36f44549d5baca9f1b2424e33a26fe70d4d');
});

it('eventBody writes a Strava event with the field order and types of the published example', () => {
  const event = {
    objectType: 'activity',
    aspect: 'create',
    objectId: '1360128428',
    ownerId: '134815',
  } as const;
  expect(eventBody(event, 120475, 1795000000)).toBe(BODY);
});

it('eventBody writes ids beyond 2^53 as bare numbers with every digit', () => {
  const event = {
    objectType: 'activity',
    aspect: 'delete',
    objectId: '9007199254740993',
    ownerId: '7',
  } as const;
  expect(eventBody(event, 1, 2)).toContain('"object_id":9007199254740993,');
});

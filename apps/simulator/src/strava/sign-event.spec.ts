import { expect, it } from '@jest/globals';
import { eventBody } from './events.js';
import { signEvent } from './sign-event.js';

const BODY =
  '{"aspect_type":"create","event_time":1795000000,"object_id":1360128428,"object_type":"activity",' +
  '"owner_id":134815,"subscription_id":120475,"updates":{}}';

it('signs an event as lower hex of HMAC-SHA256 over "t.rawbody" (the published vector)', () => {
  const signature = signEvent('strava-signing-secret', 1795000000, BODY);
  expect(signature).toBe('t=1795000000,v1=f1e44f81e76902600b5a3e7ae05aa36f44549d5baca9f1b2424e33a26fe70d4d');
});

it('writes an event in the order and with the types of the vector', () => {
  const event = {
    objectType: 'activity',
    aspect: 'create',
    objectId: '1360128428',
    ownerId: '134815',
  } as const;
  expect(eventBody(event, 120475, 1795000000)).toBe(BODY);
});

it('writes ids beyond 2^53 as bare numbers with every digit', () => {
  const event = {
    objectType: 'activity',
    aspect: 'delete',
    objectId: '9007199254740993',
    ownerId: '7',
  } as const;
  expect(eventBody(event, 1, 2)).toContain('"object_id":9007199254740993,');
});

import { describe, expect, it } from '@jest/globals';
import { InvalidInput } from '#platform';
import { readWhoopEvent, signedByWhoopAtMs, whoopWebhook } from './webhook.js';

const SECRET = 'whoop-client-secret';
const AT_MS = 1_795_000_000_000;
const body =
  '{"user_id":10129,"id":"ecfc6a15-4661-442f-a9a4-f160dd7afae8","type":"sleep.updated","trace_id":"e369c784-5100-49e8-8098-75d35c47b31b"}';
const genuine = {
  body,
  timestamp: '1795000000000',
  signature: 'PgP7sdUzsCPxwM6dNCC6adzR1TFSoH4S2gpblCGXIKU=',
};

describe('signedByWhoopAtMs', () => {
  it('signedByWhoopAtMs returns the time of the published test vector', () => {
    expect(signedByWhoopAtMs(genuine, SECRET)).toBe(AT_MS);
  });

  it.each([
    ['another body', { ...genuine, body: body.replace('updated', 'deleted') }],
    ['another timestamp', { ...genuine, timestamp: '1795000000001' }],
    ['a timestamp in seconds', { ...genuine, timestamp: '1795000000' }],
    ['a truncated signature', { ...genuine, signature: genuine.signature.slice(4) }],
    ['an empty signature', { ...genuine, signature: '' }],
  ])('signedByWhoopAtMs rejects a delivery with %s', (_, delivery) => {
    expect(signedByWhoopAtMs(delivery, SECRET)).toBeUndefined();
  });

  it('signedByWhoopAtMs rejects a signature made with another secret', () => {
    expect(signedByWhoopAtMs(genuine, 'another-secret')).toBeUndefined();
  });
});

describe('readWhoopEvent', () => {
  const wire = { user_id: 10_129, id: 'ecfc6a15', type: 'sleep.updated', trace_id: 'e369c784' };

  it('readWhoopEvent parses an event and returns its ids as text', () => {
    const event = { userId: '10129', id: 'ecfc6a15', type: 'sleep.updated', traceId: 'e369c784' };
    expect(readWhoopEvent(JSON.stringify(wire))).toEqual(event);
  });

  it.each(['', 'null', '[]', '{}', JSON.stringify({ ...wire, trace_id: undefined })])(
    'readWhoopEvent rejects the body %j',
    (raw) => {
      expect(() => readWhoopEvent(raw)).toThrow(InvalidInput);
    },
  );
});

describe('whoopWebhook', () => {
  it('reads the events of WHOOP about sleeps without a time, and none about other data', () => {
    const read = (type: string) =>
      whoopWebhook.read(JSON.stringify({ user_id: 1, id: 'x', type, trace_id: 't' }));
    expect(read('sleep.deleted')).toEqual([
      { ownerId: '1', objectType: 'sleep', objectId: 'x', aspect: 'delete', dedupeKey: 't' },
    ]);
    expect(read('sleep.updated')).toMatchObject([{ aspect: 'update' }]);
    expect(read('workout.updated')).toEqual([]);
  });
});

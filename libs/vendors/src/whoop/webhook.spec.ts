import { describe, expect, it } from '@jest/globals';
import { InvalidInput } from '#platform';
import { isSignedByWhoop, readWhoopEvent, whoopWebhook } from './webhook.js';

const SECRET = 'whoop-client-secret';
const AT_MS = 1_795_000_000_000;
const body =
  '{"user_id":10129,"id":"ecfc6a15-4661-442f-a9a4-f160dd7afae8","type":"sleep.updated","trace_id":"e369c784-5100-49e8-8098-75d35c47b31b"}';
const genuine = {
  body,
  timestamp: '1795000000000',
  signature: 'PgP7sdUzsCPxwM6dNCC6adzR1TFSoH4S2gpblCGXIKU=',
};

describe('isSignedByWhoop', () => {
  it('isSignedByWhoop accepts the published test vector', () => {
    expect(isSignedByWhoop(genuine, SECRET, AT_MS)).toBe(true);
  });

  it('isSignedByWhoop accepts a signature up to five minutes before and after its timestamp', () => {
    expect(isSignedByWhoop(genuine, SECRET, AT_MS + 300_000)).toBe(true);
    expect(isSignedByWhoop(genuine, SECRET, AT_MS + 300_001)).toBe(false);
    expect(isSignedByWhoop(genuine, SECRET, AT_MS - 300_001)).toBe(false);
  });

  it.each([
    ['another body', { ...genuine, body: body.replace('updated', 'deleted') }],
    ['another timestamp', { ...genuine, timestamp: '1795000000001' }],
    ['a timestamp in seconds', { ...genuine, timestamp: '1795000000' }],
    ['a truncated signature', { ...genuine, signature: genuine.signature.slice(4) }],
    ['an empty signature', { ...genuine, signature: '' }],
  ])('isSignedByWhoop rejects a delivery with %s', (_, delivery) => {
    expect(isSignedByWhoop(delivery, SECRET, AT_MS)).toBe(false);
  });

  it('isSignedByWhoop rejects a signature made with another secret', () => {
    expect(isSignedByWhoop(genuine, 'another-secret', AT_MS)).toBe(false);
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

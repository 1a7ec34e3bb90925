import { describe, expect, it } from '@jest/globals';
import { isSignedByWhoop } from './signature.js';

const SECRET = 'whoop-client-secret';
const AT_MS = 1_795_000_000_000;
const body =
  '{"user_id":10129,"id":"ecfc6a15-4661-442f-a9a4-f160dd7afae8","type":"sleep.updated","trace_id":"e369c784-5100-49e8-8098-75d35c47b31b"}';
const genuine = {
  body,
  timestamp: '1795000000000',
  signature: 'PgP7sdUzsCPxwM6dNCC6adzR1TFSoH4S2gpblCGXIKU=',
};

describe('the signature of WHOOP', () => {
  it('is known by the vector', () => {
    expect(isSignedByWhoop(genuine, SECRET, AT_MS)).toBe(true);
  });

  it('holds for five minutes either way', () => {
    expect(isSignedByWhoop(genuine, SECRET, AT_MS + 300_000)).toBe(true);
    expect(isSignedByWhoop(genuine, SECRET, AT_MS + 300_001)).toBe(false);
    expect(isSignedByWhoop(genuine, SECRET, AT_MS - 300_001)).toBe(false);
  });

  it.each([
    ['another body', { ...genuine, body: body.replace('updated', 'deleted') }],
    ['another time', { ...genuine, timestamp: '1795000000001' }],
    ['seconds', { ...genuine, timestamp: '1795000000' }],
    ['a signature cut short', { ...genuine, signature: genuine.signature.slice(4) }],
    ['nothing', { ...genuine, signature: '' }],
  ])('is not that of %s', (_, delivery) => {
    expect(isSignedByWhoop(delivery, SECRET, AT_MS)).toBe(false);
  });

  it('is not that of another secret', () => {
    expect(isSignedByWhoop(genuine, 'another-secret', AT_MS)).toBe(false);
  });
});

import { describe, expect, it } from '@jest/globals';
import { signWhoopEvent } from './sign-event.js';

describe('WHOOP event signature', () => {
  it('is the base64 HMAC-SHA256 of millisecond timestamp + body, no separator (vector of vendor-facts 2.2)', () => {
    const body =
      '{"user_id":10129,"id":"ecfc6a15-4661-442f-a9a4-f160dd7afae8","type":"sleep.updated","trace_id":"e369c784-5100-49e8-8098-75d35c47b31b"}';
    expect(signWhoopEvent('whoop-client-secret', '1795000000000', body)).toBe(
      'PgP7sdUzsCPxwM6dNCC6adzR1TFSoH4S2gpblCGXIKU=',
    );
  });
});

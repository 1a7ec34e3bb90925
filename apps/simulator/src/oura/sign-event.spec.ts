import { describe, expect, it } from '@jest/globals';
import { signOuraEvent } from './sign-event.js';

describe('Oura event signature', () => {
  it('is the upper-case hex HMAC-SHA256 of timestamp + body, no separator (vector of vendor-facts 1.3)', () => {
    const body =
      '{"event_type":"update","data_type":"sleep","object_id":"6f1c9a52-0d5e-4b0e-9a3e-3b1f6c2d7e11","event_time":"2026-11-18T06:30:00+00:00","user_id":"u-7c1"}';
    expect(signOuraEvent('oura-client-secret', '1795000000000', body)).toBe(
      'BFE84BD4825D8D8455D4151B68619DDE4FF95EECEA86EF1665D0F208ABAF194F',
    );
  });
});

import { describe, expect, it } from '@jest/globals';
import { isSignedByOura } from './signature.js';

const SECRET = 'oura-client-secret';
const AT_MS = 1_795_000_000_000;
const body =
  '{"event_type":"update","data_type":"sleep","object_id":"6f1c9a52-0d5e-4b0e-9a3e-3b1f6c2d7e11","event_time":"2026-11-18T06:30:00+00:00","user_id":"u-7c1"}';
const genuine = {
  body,
  timestamp: '1795000000000',
  signature: 'BFE84BD4825D8D8455D4151B68619DDE4FF95EECEA86EF1665D0F208ABAF194F',
};

describe('the signature of Oura', () => {
  it('is known by the vector, in either case', () => {
    expect(isSignedByOura(genuine, SECRET, AT_MS)).toBe(true);
    const lower = { ...genuine, signature: genuine.signature.toLowerCase() };
    expect(isSignedByOura(lower, SECRET, AT_MS)).toBe(true);
  });

  it('holds for five minutes either way', () => {
    expect(isSignedByOura(genuine, SECRET, AT_MS + 300_000)).toBe(true);
    expect(isSignedByOura(genuine, SECRET, AT_MS + 300_001)).toBe(false);
    expect(isSignedByOura(genuine, SECRET, AT_MS - 300_001)).toBe(false);
  });

  it.each([
    ['another body', { ...genuine, body: body.replace('update', 'delete') }],
    ['another time', { ...genuine, timestamp: '1795000000001' }],
    ['a signature cut short', { ...genuine, signature: genuine.signature.slice(2) }],
    ['no hex', { ...genuine, signature: 'z'.repeat(64) }],
    ['no time', { ...genuine, timestamp: 'now' }],
    ['nothing', { ...genuine, signature: '' }],
  ])('is not that of %s', (_, delivery) => {
    expect(isSignedByOura(delivery, SECRET, AT_MS)).toBe(false);
  });

  it('is not that of another secret', () => {
    expect(isSignedByOura(genuine, 'another-secret', AT_MS)).toBe(false);
  });
});

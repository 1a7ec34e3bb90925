import { describe, expect, it } from '@jest/globals';
import { qualityScoreOf, sessionOf, vendorOf } from './session.js';

describe('what a raw record says', () => {
  it.each([
    [{ source: 'oura' }, 'oura'],
    [{ source: 'whoop' }, 'whoop'],
    [{ source: 'garmin' }, 'unknown'],
    [{ source: 7 }, 'unknown'],
    [{}, 'unknown'],
    [undefined, 'unknown'],
  ])('vendor of %j: %s', (raw, vendor) => {
    expect(vendorOf(raw)).toBe(vendor);
  });

  it.each([
    [{ qualityScore: 85 }, 85],
    [{ qualityScore: 150 }, 100],
    [{ qualityScore: -20 }, 0],
    [{ qualityScore: 72.5 }, 72.5],
    [{ qualityScore: '85' }, null],
    [{}, null],
    [undefined, null],
  ])('quality score of %j: %j', (raw, score) => {
    expect(qualityScoreOf(raw)).toBe(score);
  });

  it('is a record of its date where a client says it, and the vendor’s own where a vendor does', () => {
    const payload = { userId: 'u', date: '2025-10-02', durationMinutes: 420 };
    const record = { vendor: 'whoop' as const, id: 'r', revision: 3, nap: true, state: 'pending' as const };
    expect(sessionOf({ eventId: 'e', payload }, new Uint8Array(), 5)).toMatchObject({
      source: 'ingest',
      recordId: '2025-10-02',
      state: 'scored',
      nap: false,
      capturedAtMs: 5,
      raw: null,
    });
    expect(sessionOf({ eventId: 'e', payload: { ...payload, record } }, new Uint8Array(), 5)).toMatchObject({
      source: 'whoop',
      recordId: 'r',
      state: 'pending',
      nap: true,
      revision: 3,
    });
  });
});

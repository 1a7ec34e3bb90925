import { describe, expect, it } from '@jest/globals';
import { qualityScoreOf, sessionOf, vendorOf } from './session.js';

describe('a session of a raw event', () => {
  it.each([
    [{ source: 'oura' }, 'oura'],
    [{ source: 'whoop' }, 'whoop'],
    [{ source: 'garmin' }, 'unknown'],
    [{ source: 7 }, 'unknown'],
    [{}, 'unknown'],
    [undefined, 'unknown'],
  ])('the vendor of raw %j is %s', (raw, vendor) => {
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
  ])('the quality score of raw %j is %j', (raw, score) => {
    expect(qualityScoreOf(raw)).toBe(score);
  });

  it('a client’s session has its date as record id, and a vendor’s session has the vendor’s record id', () => {
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

  it('a night without capturedAt gets the time at which the stream received it, not the time of the api process', () => {
    const payload = {
      userId: 'u',
      date: '2025-10-02',
      durationMinutes: 420,
      capturedAt: '2025-10-02T08:00:00Z',
    };
    const capturedAtMs = Date.parse(payload.capturedAt);
    const ofClient = { eventId: 'e', payload };
    expect(sessionOf(ofClient, new Uint8Array(), 5)).toMatchObject({ capturedAtMs });
    const ofApi = { ...ofClient, capturedOnReceipt: true } as const;
    expect(sessionOf(ofApi, new Uint8Array(), 5)).toMatchObject({ capturedAtMs: 5 });
  });
});

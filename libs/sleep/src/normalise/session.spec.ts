import { describe, expect, it } from '@jest/globals';
import { type SleepRawReceived } from '../contract/sleep-raw-received.js';
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

  describe('its time of capture', () => {
    const capturedAt = '2025-10-02T08:00:00Z';
    const capturedAtMs = Date.parse(capturedAt);
    const night = { userId: 'u', date: '2025-10-02', durationMinutes: 420, capturedAt };
    const record = { vendor: 'oura' as const, id: 'r', revision: 1, nap: false, state: 'scored' as const };
    const timeOf = (event: Omit<SleepRawReceived, 'eventId'>, receivedAtMs: number) =>
      sessionOf({ eventId: 'e', ...event }, new Uint8Array(), receivedAtMs).capturedAtMs;

    it('a night without capturedAt gets the time at which the stream received it, not the time of the api process', () => {
      expect(timeOf({ payload: night, capturedOnReceipt: true }, capturedAtMs + 5)).toBe(capturedAtMs + 5);
    });

    it('a client’s capturedAt counts until the time of receipt, and a later one as that time', () => {
      for (const [receivedAtMs, counted] of [
        [capturedAtMs + 1, capturedAtMs],
        [capturedAtMs, capturedAtMs],
        [capturedAtMs - 86_400_000, capturedAtMs - 86_400_000],
      ] as const)
        expect(timeOf({ payload: night }, receivedAtMs)).toBe(counted);
    });

    it('the time of a vendor’s record stays as the vendor gave it, also if it is later than the receipt', () => {
      expect(timeOf({ payload: { ...night, record } }, capturedAtMs - 86_400_000)).toBe(capturedAtMs);
    });
  });
});

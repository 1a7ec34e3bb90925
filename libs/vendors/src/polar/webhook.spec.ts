import { describe, expect, it } from '@jest/globals';
import { InvalidInput, type VendorConfig } from '#platform';
import { isSignedByPolar, polarWebhook } from './webhook.js';

const KEY = 'abe1f3ae-fd33-11e8-8eb2-f2801f1b9fd1';
const EXERCISE = {
  event: 'EXERCISE',
  user_id: 475,
  entity_id: 'aQlC83',
  timestamp: '2026-11-18T06:30:00Z',
  url: 'https://www.polaraccesslink.com/v3/exercises/aQlC83',
};
const SLEEP = {
  event: 'SLEEP',
  user_id: 475,
  date: '2026-11-18',
  timestamp: '2026-11-18T06:30:00Z',
  url: 'https://www.polaraccesslink.com/v3/users/sleep/2026-11-18',
};
const body = JSON.stringify(EXERCISE);
// Computed with another implementation of HMAC-SHA256.
const signature = 'f436587ad9806a4cb1211c3c7c14c97f92f49bea2e19a5543c523fdf17616617';

const read = (event: object) => polarWebhook.read(JSON.stringify(event));

describe('isSignedByPolar', () => {
  it('accepts the hex HMAC of the body with the text of the key, in upper and lower case', () => {
    expect(isSignedByPolar(body, signature, KEY)).toBe(true);
    expect(isSignedByPolar(body, signature.toUpperCase(), KEY)).toBe(true);
  });

  it.each([
    ['another body', body.replace('475', '476'), signature, KEY],
    ['another key', body, signature, KEY.replace('a', 'b')],
    ['a truncated signature', body, signature.slice(2), KEY],
    ['a signature that is not hex', body, 'z'.repeat(64), KEY],
    ['no signature', body, '', KEY],
  ])('rejects a delivery of Polar with %s', (_, ...delivery) => {
    expect(isSignedByPolar(...delivery)).toBe(false);
  });
});

describe('the verdict about a delivery of Polar', () => {
  const verdict = (headers: Record<string, string>, keys = [KEY], pathSecret?: string) =>
    polarWebhook.verify(
      { body, headers, pathSecret },
      { config: {} as VendorConfig, subscriptionSecrets: keys },
    );
  const signed = { 'polar-webhook-event': 'EXERCISE', 'polar-webhook-signature': signature };

  it('a delivery of Polar is genuine with the key of any of our webhooks, and unauthenticated with none', () => {
    expect(verdict(signed)).toBe('genuine');
    expect(verdict(signed, ['an-earlier-key', KEY])).toBe('genuine');
    expect(verdict(signed, [])).toBe('unauthenticated');
    expect(verdict({ 'polar-webhook-event': 'EXERCISE' })).toBe('unauthenticated');
  });

  it('a PING of Polar is a ping, signed or not and before there is a key', () => {
    expect(verdict({ 'polar-webhook-event': 'PING' }, [])).toBe('ping');
    expect(verdict({ ...signed, 'polar-webhook-event': 'PING' })).toBe('ping');
  });

  it('a delivery of Polar to a path with a secret is not found', () => {
    expect(verdict(signed, [KEY], 'a-secret')).toBe('not found');
  });
});

describe('polarWebhook.read', () => {
  it('reads an EXERCISE as a new activity and a SLEEP as a changed night, with ids as text', () => {
    const eventTime = new Date('2026-11-18T06:30:00Z');
    const common = { ownerId: '475', eventTime, dedupeKey: expect.any(String) };
    expect(read(EXERCISE)).toEqual([
      { ...common, objectType: 'activity', objectId: 'aQlC83', aspect: 'create' },
    ]);
    expect(read(SLEEP)).toEqual([
      { ...common, objectType: 'sleep', objectId: '2026-11-18', aspect: 'update' },
    ]);
  });

  it.each([
    { event: 'ACTIVITY_SUMMARY', user_id: 475, date: '2026-11-18' },
    { event: 'SLEEP_WISE_ALERTNESS', user_id: 475, from: '2026-11-16', to: '2026-11-18' },
    { event: 'PHYSICAL_INFORMATION', user_id: 475 },
    { event: 'OF_2027', user_id: 475, entity_id: 5 },
  ])('reads no event from $event', (event) => {
    expect(read(event)).toEqual([]);
  });

  it('gives a repeated event of Polar the same key, and another key to an event that differs in one field', () => {
    const key = (event: object) => read(event)[0]?.dedupeKey;
    expect(key({ ...EXERCISE, url: 'https://elsewhere.example' })).toBe(key(EXERCISE));
    const others = [
      { ...EXERCISE, user_id: 476 },
      { ...EXERCISE, entity_id: 'aQlC84' },
      { ...EXERCISE, timestamp: '2026-11-18T06:30:01Z' },
      { ...SLEEP, date: '2026-11-17' },
      SLEEP,
    ];
    expect(new Set([EXERCISE, ...others].map(key)).size).toBe(1 + others.length);
  });

  it.each([
    ['no JSON', '{'],
    ['no user', JSON.stringify({ ...EXERCISE, user_id: undefined })],
    ['no id', JSON.stringify({ ...EXERCISE, entity_id: undefined })],
    ['an id that changes the path', JSON.stringify({ ...EXERCISE, entity_id: '../users' })],
    ['a wrong date', JSON.stringify({ ...SLEEP, date: '2026-02-30' })],
    ['a wrong time', JSON.stringify({ ...SLEEP, timestamp: 'now' })],
  ])('throws for an event of Polar with %s', (_, raw) => {
    expect(() => polarWebhook.read(raw)).toThrow(InvalidInput);
  });
});

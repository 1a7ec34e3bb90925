import { describe, expect, it } from '@jest/globals';
import { InvalidInput } from '#platform';
import { dedupeKey, readEvent, stravaWebhook } from './webhook.js';

const WIRE = {
  aspect_type: 'update',
  event_time: 1_794_900_000,
  object_id: 1_360_128_428,
  object_type: 'activity',
  owner_id: 134_815,
  subscription_id: 120_475,
  updates: { title: 'Messy', private: 'true' },
};

const event = (changes: Record<string, unknown> = {}) => JSON.stringify({ ...WIRE, ...changes });

describe('readEvent', () => {
  it('parses an event of Strava, with every digit of its ids', () => {
    const raw = event().replace('1360128428', '9223372036854775807');
    expect(readEvent(raw)).toEqual({
      aspect: 'update',
      eventTime: new Date(1_794_900_000_000),
      objectType: 'activity',
      objectId: '9223372036854775807',
      ownerId: '134815',
      subscriptionId: '120475',
      updates: { title: 'Messy', private: 'true' },
    });
    expect(readEvent(event({ updates: undefined, more: 1 })).updates).toEqual({});
  });

  it.each([
    ['an empty body', ''],
    ['truncated JSON', event().slice(0, 40)],
    ['a list', `[${event()}]`],
    ['a string', '"event"'],
    ['null', 'null'],
    ['no id', event({ object_id: undefined })],
    ['an id that is no number', event({ object_id: '1; drop table' })],
    ['a negative owner', event({ owner_id: -1 })],
    ['another aspect', event({ aspect_type: 'explode' })],
    ['another object', event({ object_type: 'segment' })],
    ['a time out of range', event({ event_time: 1e15 })],
    ['a time that is no number', event({ event_time: 'now' })],
    ['updates that are a list', event({ updates: ['x'] })],
    ['nesting of 5,000 levels', `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
  ])('rejects %s as an event of Strava', (_, raw) => expect(() => readEvent(raw)).toThrow(InvalidInput));
});

describe('dedupeKey', () => {
  const key = (raw: string) => dedupeKey(readEvent(raw));

  it('gives a repeated event of Strava the same dedupe key, also with its fields in another order', () => {
    const turned = JSON.stringify(Object.fromEntries(Object.entries(WIRE).reverse()), null, 2);
    expect(key(turned)).toBe(key(event()));
    expect(key(event({ updates: { private: 'true', title: 'Messy' } }))).toBe(key(event()));
  });

  it('returns different dedupe keys for events of Strava that differ in any field', () => {
    const others = [
      { aspect_type: 'delete' },
      { event_time: 1_794_900_001 },
      { object_id: 5 },
      { object_type: 'athlete' },
      { owner_id: 5 },
      { subscription_id: 5 },
      { updates: {} },
      { updates: { title: 'Messy', private: 'false' } },
    ];
    const keys = [{}, ...others].map((changes) => key(event(changes)));
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe('stravaWebhook', () => {
  it('reads a deauthorization of Strava as the deletion of the athlete, and other events as they are', () => {
    const aspectOf = (changes: Record<string, unknown>) => stravaWebhook.read(event(changes))[0]?.aspect;
    expect(aspectOf({ object_type: 'athlete', updates: { authorized: 'false' } })).toBe('delete');
    expect(aspectOf({ object_type: 'athlete', updates: { authorized: 'true' } })).toBe('update');
    expect(aspectOf({ updates: { authorized: 'false' } })).toBe('update');
  });
});

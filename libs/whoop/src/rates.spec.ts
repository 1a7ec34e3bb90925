import { describe, expect, it } from '@jest/globals';
import { readRates } from './rates.js';

const LIMITS = '100, 100;window=60, 10000;window=86400';
const headers = (limit: string, remaining: string, reset = '3') => ({
  'x-ratelimit-limit': limit,
  'x-ratelimit-remaining': remaining,
  'x-ratelimit-reset': reset,
});
const minute = { bucket: 'read', window: 'minute', limit: 100, used: 0 };
const day = { bucket: 'read', window: 'day', limit: 10_000, used: 0 };

describe('the rate headers of WHOOP', () => {
  it('tell both limits, and of the nearest how much is spent', () => {
    expect(readRates(headers(LIMITS, '98')).usage).toEqual([{ ...minute, used: 2 }, day]);
    expect(readRates(headers(LIMITS.replace('100,', '10000,'), '40')).usage).toEqual([
      minute,
      { ...day, used: 9_960 },
    ]);
  });

  it('tell when there is more, unless a Retry-After does', () => {
    expect(readRates(headers(LIMITS, '0')).retryAfterSeconds).toBe(3);
    expect(readRates({ ...headers(LIMITS, '0'), 'retry-after': '9' }).retryAfterSeconds).toBe(9);
    expect(readRates({})).toEqual({ usage: [], retryAfterSeconds: 0 });
  });

  it.each([
    ['100', '98'],
    [LIMITS, ''],
    [LIMITS, '-1'],
    ['a, b;window=60', '98'],
    ['0, 0;window=60', '0'],
    ['100, 100;window=3600', '98'],
  ])('are not believed as %j with %j left', (limit, remaining) => {
    expect(readRates(headers(limit, remaining)).usage).toEqual([]);
  });
});

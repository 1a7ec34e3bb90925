import { describe, expect, it } from '@jest/globals';
import { VENDORS } from '#vendors';
import { readRates } from './rate-headers.js';

const oura = VENDORS.oura.limits;
const polar = VENDORS.polar.limits;
const strava = VENDORS.strava.limits;
const whoop = VENDORS.whoop.limits;

describe('the rate headers of Strava', () => {
  const HEADERS = {
    'x-ratelimit-limit': '200,2000',
    'x-ratelimit-usage': '34,567',
    'x-readratelimit-limit': '100,1000',
    'x-readratelimit-usage': '12,345',
  };
  const usageOf = (headers: Record<string, string>) => readRates(strava, headers).usage;

  it('readRates reads limit and usage of Strava’s four counters', () => {
    expect(usageOf(HEADERS)).toEqual([
      { bucket: 'read', window: '15min', limit: 100, used: 12 },
      { bucket: 'read', window: 'day', limit: 1_000, used: 345 },
      { bucket: 'overall', window: '15min', limit: 200, used: 34 },
      { bucket: 'overall', window: 'day', limit: 2_000, used: 567 },
    ]);
  });

  it.each(['', '12', '12,', 'a,b', '-1,2', '1,2,3', '1.5,2', '12345678901,1'])(
    'readRates ignores a Strava bucket whose usage header is %j',
    (malformed) => {
      const usage = usageOf({ ...HEADERS, 'x-readratelimit-usage': malformed });
      expect(usage.map(({ bucket }) => bucket)).toEqual(['overall', 'overall']);
    },
  );

  it('readRates reads nothing from missing Strava headers, and ignores a limit of 0', () => {
    expect(readRates(strava, {})).toEqual({ usage: [], retryAfterSeconds: 0, dateMs: undefined });
    expect(usageOf({ ...HEADERS, 'x-ratelimit-limit': '0,2000' }).map(({ window }) => window)).toEqual([
      '15min',
      'day',
      'day',
    ]);
  });
});

describe('the rate headers of Polar', () => {
  const HEADERS = { 'ratelimit-limit': '540, 5200', 'ratelimit-usage': '12, 345' };

  it.each([', ', ','])(
    'readRates reads Polar’s usage and resets of both windows, separated by %j',
    (between) => {
      const headers = { ...HEADERS, 'ratelimit-reset': ['61', '70000'].join(between) };
      expect(readRates(polar, headers).usage).toEqual([
        { bucket: 'read', window: '15min', limit: 540, used: 12, resetsInSeconds: 61 },
        { bucket: 'read', window: 'day', limit: 5_200, used: 345, resetsInSeconds: 70_000 },
      ]);
    },
  );

  it.each([undefined, '61', 'soon'])(
    'readRates reads Polar’s usage without a reset if that header is %j',
    (reset) => {
      const headers = { ...HEADERS, ...(reset && { 'ratelimit-reset': reset }) };
      expect(readRates(polar, headers).usage).toEqual([
        { bucket: 'read', window: '15min', limit: 540, used: 12 },
        { bucket: 'read', window: 'day', limit: 5_200, used: 345 },
      ]);
    },
  );
});

describe('the rate headers of WHOOP', () => {
  const LIMITS = '100, 100;window=60, 10000;window=86400';
  const headers = (limit: string, remaining: string, reset = '3') => ({
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': reset,
  });
  const minute = { bucket: 'read', window: 'minute', limit: 100, used: 0 };
  const day = { bucket: 'read', window: 'day', limit: 10_000, used: 0 };

  it('readRates reads both limits of WHOOP, and the usage of the limit nearest to being reached', () => {
    expect(readRates(whoop, headers(LIMITS, '98')).usage).toEqual([{ ...minute, used: 2 }, day]);
    expect(readRates(whoop, headers(LIMITS.replace('100,', '10000,'), '40')).usage).toEqual([
      minute,
      { ...day, used: 9_960 },
    ]);
  });

  it('readRates takes the retry time from Retry-After, else from WHOOP’s reset header', () => {
    expect(readRates(whoop, headers(LIMITS, '0')).retryAfterSeconds).toBe(3);
    expect(readRates(whoop, { ...headers(LIMITS, '0'), 'retry-after': '9' }).retryAfterSeconds).toBe(9);
    expect(readRates(whoop, {})).toEqual({ usage: [], retryAfterSeconds: 0, dateMs: undefined });
  });

  it.each([
    ['100', '98'],
    [LIMITS, ''],
    [LIMITS, '-1'],
    ['a, b;window=60', '98'],
    ['0, 0;window=60', '0'],
    ['100, 100;window=3600', '98'],
  ])('readRates ignores WHOOP’s headers with limits %j and remaining %j', (limit, remaining) => {
    expect(readRates(whoop, headers(limit, remaining)).usage).toEqual([]);
  });
});

it('readRates reads only Retry-After from a vendor that reports no limits', () => {
  const headers = { 'retry-after': '7', 'x-ratelimit-limit': '1' };
  expect(readRates(oura, headers)).toEqual({ usage: [], retryAfterSeconds: 7, dateMs: undefined });
});

describe('the times in a vendor’s answer', () => {
  const DATE = 'Fri, 20 Nov 2026 12:00:00 GMT';
  const DATE_MS = Date.UTC(2026, 10, 20, 12);

  it.each([
    [DATE, DATE_MS],
    ['Thu, 19 Nov 2026 12:00:00 GMT', DATE_MS - 86_400_000],
    ['yesterday', undefined],
    ['1763640000', undefined],
    [undefined, undefined],
  ])('readRates reads the Date %j', (date, dateMs) => {
    expect(readRates(strava, date === undefined ? {} : { date }).dateMs).toBe(dateMs);
  });

  it.each([
    ['30', 30],
    ['-30', 0],
    ['Fri, 20 Nov 2026 12:01:30 GMT', 90],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['31536000', 31_536_000],
    ['soon', 0],
  ])('readRates reads the Retry-After %j of an answer with a Date', (header, seconds) => {
    expect(readRates(oura, { date: DATE, 'retry-after': header }).retryAfterSeconds).toBe(seconds);
  });

  it('readRates ignores a Retry-After with a date in an answer without a Date, because the vendor’s clock is unknown', () => {
    expect(readRates(oura, { 'retry-after': DATE }).retryAfterSeconds).toBe(0);
  });
});

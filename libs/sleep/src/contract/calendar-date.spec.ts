import { describe, expect, it } from '@jest/globals';
import { isCalendarDate, latestNight } from './calendar-date.js';

describe('isCalendarDate', () => {
  it.each(['2025-10-02', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'])(
    'accepts %s as a date',
    (text) => {
      expect(isCalendarDate(text)).toBe(true);
    },
  );

  it.each([
    '2025-02-29',
    '1900-02-29',
    '2025-02-30',
    '2025-04-31',
    '2025-00-10',
    '2025-13-01',
    '2025-01-00',
    '0000-01-01',
    '10/02/2025',
    '2025-1-2',
    '2025-10-02T00:00:00Z',
    '',
  ])('refuses "%s" as a date', (text) => {
    expect(isCalendarDate(text)).toBe(false);
  });
});

describe('latestNight', () => {
  it.each([
    ['2026-11-18T09:59:59Z', '2026-11-19'],
    ['2026-11-18T10:00:00Z', '2026-11-20'],
    ['2026-12-31T12:00:00Z', '2027-01-02'],
  ])('the latest night at %s is %s, tomorrow at UTC+14', (now, latest) => {
    expect(latestNight(Date.parse(now))).toBe(latest);
  });
});

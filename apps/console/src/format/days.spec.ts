import { describe, expect, it } from '@jest/globals';
import {
  dayInWords,
  dayOf,
  daysBetween,
  daysOfMonth,
  monthInWords,
  monthOf,
  plusDays,
  plusMonths,
  weekdayOf,
} from './days.js';

describe('days', () => {
  it('dayOf and monthOf return undefined for a text that is no day or month of the calendar', () => {
    expect(dayOf('2026-02-28')).toBe('2026-02-28');
    expect(dayOf('2026-02-30')).toBeUndefined();
    expect(dayOf('yesterday')).toBeUndefined();
    expect([dayOf('0002-01-01'), monthOf('0000-01'), monthOf('9999-12')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(monthOf('2026-12')).toBe('2026-12');
    expect(monthOf('2026-13')).toBeUndefined();
  });

  it('days and months are counted over the ends of years and over leap days', () => {
    expect(plusDays('2025-12-31', 1)).toBe('2026-01-01');
    expect(plusMonths('2026-01', -2)).toBe('2025-11');
    expect(daysOfMonth('2024-02')).toHaveLength(29);
    expect(daysBetween('2026-03-28', '2026-03-30')).toEqual(['2026-03-28', '2026-03-29', '2026-03-30']);
    expect(daysBetween('2026-03-30', '2026-03-28')).toEqual([]);
  });

  it('weeks begin on Monday', () => {
    expect(weekdayOf('2026-11-16')).toBe(0);
    expect(weekdayOf('2026-11-22')).toBe(6);
  });

  it('words are English', () => {
    expect(dayInWords('2026-11-18')).toBe('Wednesday, 18 November 2026');
    expect(monthInWords('2026-11')).toBe('November 2026');
  });
});

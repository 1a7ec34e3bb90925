import { describe, expect, it } from '@jest/globals';
import { causesOf, columnOf, totalOf } from './decision-columns.js';

const MINUTE = { at: '2026-03-03T12:00:00Z', causes: { capacity_busy: 3, admitted: 5, on_holiday: 2 } };

describe('decision columns', () => {
  it('stack the causes in one order, each upon the sum of those below', () => {
    const parts = columnOf(MINUTE, causesOf([MINUTE]));
    expect(parts.map(({ cause, from, value }) => [cause, from, value])).toEqual([
      ['admitted', 0, 5],
      ['capacity_busy', 5, 3],
      ['on_holiday', 8, 2],
    ]);
  });

  it('decision columns are as high as the minute has decisions, also of unknown causes', () => {
    const last = columnOf(MINUTE, causesOf([MINUTE])).at(-1);
    expect((last?.from ?? 0) + (last?.value ?? 0)).toBe(totalOf(MINUTE));
    expect(causesOf([MINUTE]).at(-1)).toEqual({ cause: 'on_holiday', word: 'on holiday', tone: 'quiet' });
  });
});

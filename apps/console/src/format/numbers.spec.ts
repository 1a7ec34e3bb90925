import { describe, expect, it } from '@jest/globals';
import { bytes, count, counted, percent } from './numbers.js';

describe('numbers', () => {
  it('count groups thousands and counted chooses the word', () => {
    expect(count(1_234_567)).toBe('1,234,567');
    expect(counted(1, 'activity', 'activities')).toBe('1 activity');
    expect(counted(0, 'call')).toBe('0 calls');
  });

  it('percent shows 0 % only for nothing, and 100 % only for everything', () => {
    expect(percent(0)).toBe('0 %');
    expect(percent(0.0003)).toBe('< 0.1 %');
    expect(percent(0.0123)).toBe('1.2 %');
    expect(percent(0.42)).toBe('42 %');
    expect(percent(0.9996)).toBe('99.9 %');
    expect(percent(1)).toBe('100 %');
  });

  it('bytes has a unit that keeps the number below a thousand', () => {
    expect(bytes(0)).toBe('0 B');
    expect(bytes(999)).toBe('999 B');
    expect(bytes(1536)).toBe('1.5 kB');
    expect(bytes(2_500_000_000)).toBe('2.5 GB');
  });
});

import { describe, expect, it } from '@jest/globals';
import { hours, lengthOf } from './length.js';

describe('the length of a night', () => {
  it('the length of a night has two digits of minutes, and never 60', () => {
    expect(hours(403)).toBe('6 h 43 min');
    expect(hours(479.6)).toBe('8 h 00 min');
    expect(hours(null)).toBe('–');
  });

  it('a night of exactly 6, 7 or 8 hours belongs to the longer class', () => {
    expect([359, 360, 420, 480].map(lengthOf)).toEqual(['short', 'fair', 'good', 'long']);
  });
});

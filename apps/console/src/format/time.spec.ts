import { describe, expect, it } from '@jest/globals';
import { clock, duration, moment, relative, spell, utc } from './time.js';

const NOW = new Date('2026-03-03T12:00:00Z'); // a Tuesday
const later = (milliseconds: number) => new Date(NOW.getTime() + milliseconds);

describe('duration and spell', () => {
  it('duration shows hours only if there are any', () => {
    expect(duration(3723)).toBe('1:02:03');
    expect(duration(754)).toBe('12:34');
    expect(duration(9)).toBe('0:09');
    expect(duration(3599.6)).toBe('1:00:00');
    expect(duration(null)).toBe('–');
  });

  it('spell names at most two units and leaves out a zero', () => {
    expect(spell(12_000_000)).toBe('3 h 20 min');
    expect(spell(2 * 86_400_000 + 4 * 3_600_000 + 59_000)).toBe('2 d 4 h');
    expect(spell(3_600_000)).toBe('1 h');
    expect(spell(3_600_000 + 5000)).toBe('1 h');
    expect(spell(400)).toBe('0 s');
  });
});

describe('moments', () => {
  it('clock has seconds only where they are wanted', () => {
    expect(clock(NOW, false, 'Europe/Berlin')).toBe('13:00');
    expect(clock(later(5000), true, 'UTC')).toBe('12:00:05');
  });

  it('relative has one unit, past or future', () => {
    expect(relative(later(250_000), NOW)).toBe('in 4 min');
    expect(relative(later(-3 * 3_600_000), NOW)).toBe('3 h ago');
    expect(relative(later(-2000), NOW)).toBe('now');
    expect(relative(later(-30_000), NOW)).toBe('30 s ago');
  });

  it('moment names the day only if it is not today in the person’s zone', () => {
    expect(moment(new Date('2026-03-03T14:15:00Z'), NOW, 'UTC')).toBe('14:15');
    expect(moment(new Date('2026-03-05T09:30:00Z'), NOW, 'UTC')).toBe('Thursday 09:30');
    expect(moment(new Date('2026-03-12T09:30:00Z'), NOW, 'UTC')).toBe('12 Mar 09:30');
    expect(moment(new Date('2025-03-12T09:30:00Z'), NOW, 'UTC')).toBe('12 Mar 2025 09:30');
    expect(moment(new Date('2026-03-03T23:30:00Z'), NOW, 'Europe/Berlin')).toBe('Wednesday 00:30');
  });

  it('utc is the same in every zone', () => {
    expect(utc(new Date('2026-03-03T09:30:00.500Z'))).toBe('2026-03-03 09:30:00 UTC');
  });
});

import { describe, expect, it } from '@jest/globals';
import { distance, height, pace, speed } from './units.js';

describe('units', () => {
  it('distance has two decimals below 100 and one from there on', () => {
    expect(distance(12_345, 'km')).toBe('12.35 km');
    expect(distance(12_345, 'mi')).toBe('7.67 mi');
    expect(distance(180_000, 'km')).toBe('180.0 km');
    expect(distance(0, 'km')).toBe('0.00 km');
  });

  it('pace rounds to whole seconds and never shows :60', () => {
    expect(pace(1000 / 275, 'km')).toBe('4:35 /km');
    expect(pace(1000 / 299.7, 'km')).toBe('5:00 /km');
    expect(pace(1609.344 / 480, 'mi')).toBe('8:00 /mi');
  });

  it('a person who stands has a speed of zero and no pace', () => {
    expect(pace(0, 'km')).toBe('–');
    expect(speed(0, 'km')).toBe('0.0 km/h');
  });

  it('speed and height know both systems', () => {
    expect(speed(10, 'km')).toBe('36.0 km/h');
    expect(speed(10, 'mi')).toBe('22.4 mph');
    expect(height(1234.4, 'km')).toBe('1,234 m');
    expect(height(304.8, 'mi')).toBe('1,000 ft');
  });

  it('an absent value is a dash', () => {
    for (const format of [distance, height, pace, speed]) expect(format(null, 'km')).toBe('–');
  });
});

import { describe, expect, it } from '@jest/globals';
import { covered, effort, meanSpeed, roundPaces, roundSpeeds, speedKindOf } from './effort.js';

describe('effort', () => {
  it('each sport has its own measure', () => {
    expect(effort(1000 / 275, speedKindOf('TrailRun'), 'km')).toBe('4:35 /km');
    expect(effort(100 / 112, speedKindOf('Swim'), 'km')).toBe('1:52 /100 m');
    expect(effort(91.44 / 59.7, speedKindOf('OpenWaterSwim'), 'mi')).toBe('1:00 /100 yd');
    expect(effort(10, speedKindOf('VirtualRide'), 'km')).toBe('36.0 km/h');
  });

  it('a swim is counted in metres or yards', () => {
    expect(covered(1500, 'swim', 'km')).toBe('1,500 m');
    expect(covered(91.44, 'swim', 'mi')).toBe('100 yd');
    expect(covered(1500, 'pace', 'km')).toBe('1.50 km');
    expect(covered(null, 'swim', 'km')).toBe('–');
  });

  it('without a distance there is no mean speed', () => {
    expect(meanSpeed(0, 3600)).toBeNull();
    expect(meanSpeed(1000, 0)).toBeNull();
    expect(meanSpeed(1000, 250)).toBe(4);
    expect(effort(null, 'swim', 'km')).toBe('–');
  });
});

describe('roundPaces', () => {
  it('names few round paces inside the range, in ascending order of speed', () => {
    const speeds = roundPaces(2, 5, 1000);
    expect(speeds.length).toBeGreaterThan(1);
    expect(speeds).toEqual([...speeds].sort((a, b) => a - b));
    for (const speed of speeds) {
      expect(speed).toBeGreaterThanOrEqual(2);
      expect(speed).toBeLessThanOrEqual(5);
      expect(Math.round((1000 / speed) * 1000) % 5000).toBe(0);
    }
  });

  it('names no round pace for a person who stood still all the time', () => {
    expect(roundPaces(0, 0, 1000)).toEqual([]);
  });
});

describe('roundSpeeds', () => {
  it('names round speeds of the person’s units', () => {
    expect(roundSpeeds(0, 12, 'km').map((speed) => Math.round(speed * 3.6))).toEqual([0, 10, 20, 30, 40]);
    expect(roundSpeeds(8, 9, 'km').map((speed) => Math.round(speed * 3.6))).toEqual([29, 30, 31, 32]);
    expect(roundSpeeds(0, 10, 'mi').map((speed) => Math.round(speed * 2.23694))).toEqual([0, 5, 10, 15, 20]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { readRecording } from '../../../streams/src/recording/recording.js';
import { gradeOf } from './slope.js';
import { smoothed, withoutSpikes } from './smooth.js';
import { trackOf } from './track.js';

function track(channels: Record<string, unknown[]>) {
  return trackOf(readRecording(channels)!, 'run');
}

const seconds = Array.from({ length: 601 }, (_, second) => second);

describe('a track', () => {
  it('a track has a cell for each second, even if the recording has a sample every five seconds', () => {
    const time = seconds.filter((second) => second % 5 === 0);
    const found = track({ time, distance: time.map((second) => 3 * second) })!;
    expect(found.cells).toBe(600);
    expect(found.metres![600]).toBeCloseTo(1_800);
    expect(found.speed![300]).toBeCloseTo(3);
    expect(found.elapsedS[600]).toBe(600);
  });

  it('a track stands still in a pause, and shortens a pause of an hour to ten minutes', () => {
    const time = [...seconds, ...seconds.map((second) => 600 + 3_600 + second)];
    const distance = time.map((_, index) => 3 * Math.min(index, 600) + (index > 601 ? 3 * (index - 601) : 0));
    const found = track({ time, distance })!;
    expect(found.cells).toBe(600 + 600 + 600);
    expect([...found.isStill.slice(600, 1_200)].every((still) => still === 1)).toBe(true);
    expect(found.elapsedS[1_800]).toBe(4_800);
  });

  it('a track takes speed from distance or positions if the device wrote none', () => {
    const latlng = seconds.map((second) => [52 + (3 * second) / 111_195, 13]);
    expect(track({ time: seconds, latlng })!.speed![100]).toBeCloseTo(3, 3);
    const holes = seconds.map((second) => (second % 3 === 1 ? null : 3 * second));
    expect(track({ time: seconds, distance: holes })!.speed![100]).toBeCloseTo(3, 6);
  });

  it('a jump of the receiver adds no speed or distance to a track', () => {
    const distance = seconds.map((second) => 3 * second + (second >= 300 ? 5_000 : 0));
    const found = track({ time: seconds, distance })!;
    expect(Math.max(...found.speed!)).toBeCloseTo(3);
    expect(found.metres![600]).toBeLessThan(1_801);
  });

  it('trackOf answers undefined for a recording in which no time passes', () => {
    expect(track({ time: [5] })).toBeUndefined();
    expect(track({ time: [5, 5, 5], distance: [0, 1, 2] })).toBeUndefined();
  });

  it('a track leaves out impossible values, and the heart rate of a sensor that dropped out', () => {
    const rarely = seconds.map((second) => (second % 10 === 0 ? 140 : null));
    const mostly = seconds.map((second) => (second % 10 === 0 ? null : 140));
    expect(track({ time: seconds, heartrate: rarely })!.heartRate).toBeUndefined();
    expect(track({ time: seconds, heartrate: mostly })!.heartRate![5]).toBe(140);
    expect(track({ time: seconds, heartrate: seconds.map(() => 4_000) })!.heartRate![5]).toBeNaN();
  });

  it('gradeOf computes the slope of the ground from height and distance', () => {
    const distance = seconds.map((second) => 3 * second);
    const altitude = seconds.map((second) => 100 + 0.05 * 3 * second);
    expect(gradeOf(track({ time: seconds, distance, altitude })!)![300]).toBeCloseTo(0.05, 3);
  });
});

describe('smoothing', () => {
  it('smoothing averages the known values nearby', () => {
    expect([...smoothed(Float64Array.of(1, NaN, 4, 7), 1)]).toEqual([1, 2.5, 5.5, 5.5]);
    expect([...smoothed(Float64Array.of(NaN, NaN, NaN, 2), 1)]).toEqual([NaN, NaN, 2, 2]);
  });

  it('removing spikes drops a single outlier and keeps an edge in place', () => {
    expect([...withoutSpikes(Float64Array.of(3, 3, 40, 3, 3, 5, 5, 5))]).toEqual([3, 3, 3, 3, 3, 5, 5, 5]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { decodePolyline, planeOf } from './route.js';

describe('planeOf', () => {
  it('a square on the ground is a square in the plane, also far north', () => {
    const { width, height } = planeOf(
      [
        [60, 10],
        [60.01, 10.02],
      ],
      100,
    );
    expect(width / height).toBeCloseTo(1, 2);
  });

  it('north is up, and a single point is no error', () => {
    expect(
      planeOf(
        [
          [0, 0],
          [1, 0],
        ],
        10,
      ).points,
    ).toEqual([
      [0, 10],
      [0, 0],
    ]);
    expect(planeOf([[41, 2]], 10)).toEqual({ points: [[0, 0]], width: 0, height: 0 });
  });
});

describe('decodePolyline', () => {
  it('reads the example of Google’s description', () => {
    expect(decodePolyline('_p~iF~ps|U_ulLnnqC_mqNvxq`@')).toEqual([
      [38.5, -120.2],
      [40.7, -120.95],
      [43.252, -126.453],
    ]);
  });
});

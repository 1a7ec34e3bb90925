import { describe, expect, it } from '@jest/globals';
import { contrastOf } from './hard-level.js';
import { type Stretch } from './stretches.js';

function stretches(...parts: [level: number, length: number][]): Stretch[] {
  let at = 0;
  return parts.map(([level, length]) => ({ from: at, to: (at += length), isStop: level === 0, level }));
}

describe('the hard level', () => {
  it('the hard level separates work from warm-up, jogs and cool-down', () => {
    const found = contrastOf(
      stretches([0.9, 600], [1.3, 180], [0.75, 90], [1.32, 180], [0.75, 90], [1.28, 180], [0.85, 500]),
    );
    expect(found!.hardFrom).toBeCloseTo(1.09);
    expect(found!.hard).toBeCloseTo(1.3);
    expect(found!.easyShare).toBeCloseTo(1_280 / 1_820);
  });

  it('the hard level does not depend on stops', () => {
    const found = contrastOf(
      stretches([0.9, 600], [0, 60], [1.3, 90], [0, 60], [1.3, 90], [0, 60], [0.9, 400]),
    );
    expect(found!.hardFrom).toBeCloseTo(1.1);
    expect(found!.easy).toBeCloseTo(0.9);
  });

  it('contrastOf finds no hard level in a session of one level', () => {
    expect(contrastOf(stretches([1, 600], [0, 30], [1, 600]))).toBeUndefined();
    expect(contrastOf([])).toBeUndefined();
  });
});

import { describe, expect, it } from '@jest/globals';
import { easy, type Part, repeated, session } from '../session.harness.js';
import { effortOf } from '../signal/effort.js';
import { type Track, trackOf } from '../signal/track.js';
import { climbsOf } from './climbs.js';
import { hardPartsOf } from './hard-parts.js';
import { heartRateDrift } from './heart-rate-drift.js';
import { hillRepetitions } from './hill-repetitions.js';
import { isProgression } from './progression.js';
import { setsByStops } from './sets-by-stops.js';
import { stopsOf, stretchesOf } from './stretches.js';

function track(...parts: Part[]): Track {
  return trackOf(session(parts), 'run')!;
}

function effort(run: Track) {
  return effortOf(run, 'run')!;
}

function bouts(run: Track) {
  const own = effort(run);
  return hardPartsOf(run, own, stretchesOf(run, own))?.bouts ?? [];
}

const redLight: Part = { seconds: 25, speed: 0 };

describe('stops', () => {
  it('stopsOf finds stops with the watch running and with the watch paused', () => {
    const paused: Part = { seconds: 40, speed: 0, isPause: true };
    const found = stopsOf(track(easy(5), redLight, easy(5), paused, easy(5)));
    expect(found).toHaveLength(2);
    expect(Math.abs(found[0]!.from - 300)).toBeLessThanOrEqual(1);
    expect(found[0]!.to - found[0]!.from).toBe(25);
    expect(Math.abs(found[1]!.to - found[1]!.from - 40)).toBeLessThanOrEqual(1);
  });
});

describe('hard parts', () => {
  const work: Part = { seconds: 60, speed: 4 };
  const jog: Part = { seconds: 45, speed: 2.4 };

  it('hardPartsOf finds twelve hard parts, their starts to within two seconds and their lengths to within three', () => {
    const found = bouts(track(easy(10), ...repeated(12, work, jog), easy(8)));
    expect(found).toHaveLength(12);
    found.forEach(({ from, to }, index) => {
      expect(Math.abs(from - (600 + index * 105))).toBeLessThanOrEqual(2);
      expect(Math.abs(to - from - 60)).toBeLessThanOrEqual(3);
    });
  });

  it('hardPartsOf finds no hard parts if the pace varies by 11 %', () => {
    expect(
      bouts(track(easy(10), easy(5, { speed: 3.1 }), easy(10), easy(5, { speed: 3.1 }), easy(5))),
    ).toEqual([]);
  });

  it('a short sprint beside a tempo block is no hard part', () => {
    const sprint: Part = { seconds: 25, speed: 4.5 };
    expect(bouts(track(easy(6), sprint, easy(6), easy(20, { speed: 3.7 }), easy(10)))).toHaveLength(1);
  });

  it('short rests that recur separate hard parts, and a single short rest does not', () => {
    const long: Part = { seconds: 600, speed: 3.8 };
    const short: Part = { seconds: 30, speed: 2.2 };
    expect(bouts(track(easy(10), ...repeated(4, long, short), easy(10)))).toHaveLength(4);
    expect(bouts(track(easy(10), long, short, { ...long, seconds: 1_000 }, easy(10)))).toHaveLength(1);
  });

  it('the descents in a hilly run are no hard parts', () => {
    const up: Part = { seconds: 300, speed: 2.5, slope: 0.05 };
    const down: Part = { seconds: 300, speed: 3.05, slope: -0.045 };
    expect(bouts(track(...repeated(6, up, down)))).toEqual([]);
  });
});

describe('sets between stops', () => {
  const length: Part = { seconds: 90, speed: 2.8 };

  it('setsByStops finds equal distances between equal rests', () => {
    expect(setsByStops(track(...repeated(6, length, redLight)))).toHaveLength(6);
  });

  it('red lights of random lengths make no sets', () => {
    const minutes = [4, 7, 2, 9, 5, 3];
    const parts = minutes.flatMap((count, index) => [easy(count), { seconds: 10 + 9 * index, speed: 0 }]);
    expect(setsByStops(track(...parts))).toEqual([]);
  });
});

describe('a progression', () => {
  it('a run that gets faster until its end is a progression', () => {
    const run = track(easy(10), easy(10, { speed: 3 }), easy(10, { speed: 3.2 }), easy(10, { speed: 3.5 }));
    expect(isProgression(run, effort(run))).toBe(true);
  });

  it.each([
    ['ends with a cool-down', [easy(15), easy(15, { speed: 3.4 }), easy(10)]],
    ['gets only 7 % faster', [easy(15), easy(15, { speed: 2.9 }), easy(15, { speed: 3 })]],
    ['takes only 12 minutes', [easy(4), easy(4, { speed: 3.2 }), easy(4, { speed: 3.8 })]],
  ])('a run that %s is no progression', (_, parts) => {
    const run = track(...parts);
    expect(isProgression(run, effort(run))).toBe(false);
  });
});

describe('climbs', () => {
  it('a climb goes from its low point to its high point, small dips included', () => {
    const parts = [easy(5), easy(5, { slope: 0.06 }), easy(0.5, { slope: -0.03 }), easy(3, { slope: 0.06 })];
    const found = climbsOf(track(...parts, easy(5, { slope: -0.08 })));
    expect(found).toHaveLength(1);
    expect(Math.abs(found[0]!.gainM - 78)).toBeLessThan(4);
    expect(Math.abs(found[0]!.from - 300)).toBeLessThan(20);
  });

  it('climbsOf finds no climbs without height, and no climbs in noise of a few metres', () => {
    expect(climbsOf(trackOf(session([easy(20)], { without: ['altitude'] }), 'run')!)).toEqual([]);
    const flutter = repeated(
      30,
      { seconds: 20, speed: 3, slope: 0.03 },
      { seconds: 20, speed: 3, slope: -0.03 },
    );
    expect(climbsOf(track(...flutter))).toEqual([]);
  });
});

describe('hill repetitions', () => {
  const up: Part = { seconds: 75, speed: 3.2, slope: 0.07 };
  const down: Part = { seconds: 95, speed: 2.52, slope: -0.07 };
  const found = (...parts: Part[]) => {
    const run = track(...parts);
    return hillRepetitions(run, climbsOf(run));
  };

  it('hillRepetitions finds repetitions of one hill if the runner is faster uphill than downhill', () => {
    expect(found(easy(10), ...repeated(6, up, down), easy(10, { slope: -0.02 }))).toHaveLength(6);
  });

  it('the way to the hill is no hill repetition, even if it climbs', () => {
    expect(
      found(easy(10, { slope: 0.008 }), ...repeated(6, up, down), easy(10, { slope: -0.02 })),
    ).toHaveLength(6);
  });

  it('hills are no hill repetitions if the runner is faster downhill than uphill', () => {
    const slowUp: Part = { seconds: 90, speed: 2.4, slope: 0.07 };
    const fastDown: Part = { seconds: 70, speed: 3.1, slope: -0.07 };
    expect(found(easy(10), ...repeated(6, slowUp, fastDown), easy(10))).toEqual([]);
  });

  it('hills of different heights are no hill repetitions', () => {
    const higher: Part = { ...up, seconds: 200 };
    const lower: Part = { ...down, seconds: 250 };
    expect(found(easy(10), up, down, higher, lower, up, down, higher, easy(5))).toEqual([]);
  });
});

describe('heart rate drift', () => {
  const drift = (...parts: Part[]) => {
    const run = track(...parts);
    return heartRateDrift(run, effort(run), bouts(run));
  };

  it('the heart rate drift of an even run leaves out five minutes and compares the halves of the rest', () => {
    const found = drift(
      easy(5, { heartRate: 110 }),
      easy(25, { heartRate: 140 }),
      easy(25, { heartRate: 147 }),
    );
    expect(Math.abs(found! - 5)).toBeLessThan(0.7);
  });

  it('the heart rate drift is about zero if speed and heart rate rise in proportion', () => {
    const found = drift(easy(30, { heartRate: 140 }), easy(25, { heartRate: 146, speed: 3 }));
    expect(Math.abs(found!)).toBeLessThan(1);
  });

  it('the heart rate drift of repetitions compares the later repetitions with the earlier repetitions', () => {
    const work = (heartRate: number): Part => ({ seconds: 180, speed: 4, heartRate });
    const jog: Part = { seconds: 90, speed: 2.4, heartRate: 140 };
    const first = repeated(3, work(160), jog);
    const found = drift(
      easy(10, { heartRate: 130 }),
      ...first,
      jog,
      ...repeated(3, work(168), jog),
      easy(10),
    );
    expect(Math.abs(found! - 5)).toBeLessThan(0.7);
  });

  it('the heart rate drift is unknown without a heart rate, and for a run of 15 minutes', () => {
    expect(drift(easy(60))).toBeUndefined();
    expect(drift(easy(15, { heartRate: 140 }))).toBeUndefined();
  });
});

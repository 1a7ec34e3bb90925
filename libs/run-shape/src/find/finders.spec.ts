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
import { stopsOf } from './stops.js';
import { stretchesOf } from './stretches.js';

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

const light: Part = { seconds: 25, speed: 0 };

describe('stops', () => {
  it('are where one stands, whether the watch runs or not', () => {
    const paused: Part = { seconds: 40, speed: 0, isPause: true };
    const found = stopsOf(track(easy(5), light, easy(5), paused, easy(5)));
    expect(found).toHaveLength(2);
    expect(Math.abs(found[0]!.from - 300)).toBeLessThanOrEqual(1);
    expect(found[0]!.to - found[0]!.from).toBe(25);
    expect(Math.abs(found[1]!.to - found[1]!.from - 40)).toBeLessThanOrEqual(1);
  });
});

describe('hard parts', () => {
  const work: Part = { seconds: 60, speed: 4 };
  const jog: Part = { seconds: 45, speed: 2.4 };

  it('are found to the second or two, however many', () => {
    const found = bouts(track(easy(10), ...repeated(12, work, jog), easy(8)));
    expect(found).toHaveLength(12);
    found.forEach(({ from, to }, index) => {
      expect(Math.abs(from - (600 + index * 105))).toBeLessThanOrEqual(2);
      expect(Math.abs(to - from - 60)).toBeLessThanOrEqual(3);
    });
  });

  it('are none where the pace varies by less than a sixth', () => {
    expect(
      bouts(track(easy(10), easy(5, { speed: 3.1 }), easy(10), easy(5, { speed: 3.1 }), easy(5))),
    ).toEqual([]);
  });

  it('leave out a sprint for the bus', () => {
    const sprint: Part = { seconds: 25, speed: 4.5 };
    expect(bouts(track(easy(6), sprint, easy(6), easy(20, { speed: 3.7 }), easy(10)))).toHaveLength(1);
  });

  it('are cut by rests that come again, however short', () => {
    const long: Part = { seconds: 600, speed: 3.8 };
    const short: Part = { seconds: 30, speed: 2.2 };
    expect(bouts(track(easy(10), ...repeated(4, long, short), easy(10)))).toHaveLength(4);
    expect(bouts(track(easy(10), long, short, { ...long, seconds: 1_000 }, easy(10)))).toHaveLength(1);
  });

  it('are not the valleys of a hilly run', () => {
    const up: Part = { seconds: 300, speed: 2.5, slope: 0.05 };
    const down: Part = { seconds: 300, speed: 3.05, slope: -0.045 };
    expect(bouts(track(...repeated(6, up, down)))).toEqual([]);
  });
});

describe('sets between stops', () => {
  const length: Part = { seconds: 90, speed: 2.8 };

  it('are equal lengths between equal rests', () => {
    expect(setsByStops(track(...repeated(6, length, light)))).toHaveLength(6);
  });

  it('are not made by red lights', () => {
    const minutes = [4, 7, 2, 9, 5, 3];
    const parts = minutes.flatMap((count, index) => [easy(count), { seconds: 10 + 9 * index, speed: 0 }]);
    expect(setsByStops(track(...parts))).toEqual([]);
  });
});

describe('a progression', () => {
  it('gets faster until its end', () => {
    const run = track(easy(10), easy(10, { speed: 3 }), easy(10, { speed: 3.2 }), easy(10, { speed: 3.5 }));
    expect(isProgression(run, effort(run))).toBe(true);
  });

  it.each([
    ['ends with a cool-down', [easy(15), easy(15, { speed: 3.4 }), easy(10)]],
    ['rises by less than intention does', [easy(15), easy(15, { speed: 2.9 }), easy(15, { speed: 3 })]],
    ['is over before it began', [easy(4), easy(4, { speed: 3.2 }), easy(4, { speed: 3.8 })]],
  ])('is not one that %s', (_, parts) => {
    const run = track(...parts);
    expect(isProgression(run, effort(run))).toBe(false);
  });
});

describe('climbs', () => {
  it('go from the low point to the high one, small dips included', () => {
    const parts = [easy(5), easy(5, { slope: 0.06 }), easy(0.5, { slope: -0.03 }), easy(3, { slope: 0.06 })];
    const found = climbsOf(track(...parts, easy(5, { slope: -0.08 })));
    expect(found).toHaveLength(1);
    expect(Math.abs(found[0]!.gainM - 78)).toBeLessThan(4);
    expect(Math.abs(found[0]!.from - 300)).toBeLessThan(20);
  });

  it('are none without height, or where it only flutters', () => {
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

  it('are the same hill, run up faster than down', () => {
    expect(found(easy(10), ...repeated(6, up, down), easy(10, { slope: -0.02 }))).toHaveLength(6);
  });

  it('do not count the way to the hill, which climbs as well', () => {
    expect(
      found(easy(10, { slope: 0.008 }), ...repeated(6, up, down), easy(10, { slope: -0.02 })),
    ).toHaveLength(6);
  });

  it('are not a round of hills, which one runs down faster', () => {
    const slowUp: Part = { seconds: 90, speed: 2.4, slope: 0.07 };
    const fastDown: Part = { seconds: 70, speed: 3.1, slope: -0.07 };
    expect(found(easy(10), ...repeated(6, slowUp, fastDown), easy(10))).toEqual([]);
  });

  it('are not hills of different heights', () => {
    const higher: Part = { ...up, seconds: 200 };
    const lower: Part = { ...down, seconds: 250 };
    expect(found(easy(10), up, down, higher, lower, up, down, higher, easy(5))).toEqual([]);
  });
});

describe('the drift of the heart', () => {
  const drift = (...parts: Part[]) => {
    const run = track(...parts);
    return heartRateDrift(run, effort(run), bouts(run));
  };

  it('compares the halves of an even run, after the first minutes', () => {
    const found = drift(
      easy(5, { heartRate: 110 }),
      easy(25, { heartRate: 140 }),
      easy(25, { heartRate: 147 }),
    );
    expect(Math.abs(found! - 5)).toBeLessThan(0.7);
  });

  it('is none when the heart beats faster because the runner is faster', () => {
    const found = drift(easy(30, { heartRate: 140 }), easy(25, { heartRate: 146, speed: 3 }));
    expect(Math.abs(found!)).toBeLessThan(1);
  });

  it('compares later repetitions with earlier ones', () => {
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

  it('is unknown without a heart, and after too short a run', () => {
    expect(drift(easy(60))).toBeUndefined();
    expect(drift(easy(15, { heartRate: 140 }))).toBeUndefined();
  });
});

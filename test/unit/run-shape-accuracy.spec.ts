import { beforeAll, describe, expect, it } from '@jest/globals';
import { readRecording } from '../../libs/streams/src/recording/recording.js';
import { type Activity, createHistory, streamsOf, summaryOf, type Truth, truthOf } from '#training-world';
import {
  type EarlierActivity,
  type ShapeFacts,
  type Profile,
  shapeOf,
  type RunShape,
  usualOf,
} from '#run-shape';

// The rules were tuned on athletes 1 to 125, so these athletes are new to them.
const FIRST_ATHLETE = 7_001;
const ATHLETES = 25;
const ACTIVITIES_EACH = 20;
/** The number of an athlete's earlier activities that the rules get. */
const EARLIER = 120;

const READ = ['time', 'distance', 'velocity_smooth', 'altitude', 'heartrate', 'watts'] as const;

interface Judged {
  readonly truth: Truth;
  readonly shape: RunShape;
}

type Row = ShapeFacts & EarlierActivity;

describe('the shape of planned workouts', () => {
  let judged: Judged[] = [];

  beforeAll(() => {
    judged = Array.from({ length: ATHLETES }, (_, index) => judge(FIRST_ATHLETE + index)).flat();
  }, 120_000);

  it('run-shape finds the planned profile of at least 95 % of the simulator’s workouts', () => {
    const wrong = judged.filter(({ truth, shape }) => shape.profile !== expectedOf(truth));
    const share = wrong.length / judged.length;
    expect(judged).toHaveLength(500);
    // If the test fails, the message lists the workouts with a wrong profile.
    expect(share > 0.05 ? wrong.map(({ truth, shape }) => `${truth.session}: ${shape.profile}`) : []).toEqual(
      [],
    );
  });

  it('run-shape counts the repetitions of at least 90 % of the sessions exactly', () => {
    const sessions = judged.filter(({ truth }) => truth.repetitions > 0);
    const wrong = sessions.filter(({ truth, shape }) => shape.repetitions?.count !== truth.repetitions);
    expect(sessions.length).toBeGreaterThan(50);
    expect(wrong.length / sessions.length).toBeLessThanOrEqual(0.1);
  });

  it('run-shape finds at least 90 % of the starts and ends of repetitions to within five seconds if it counts the repetitions right', () => {
    const offs = judged.flatMap(({ truth, shape }) => {
      const planned = truth.segments.filter(({ repetition, kind }) => repetition && kind !== 'recovery');
      const found = shape.segments.filter(({ kind }) => kind === 'work' || kind === 'climb');
      if (planned.length === 0 || planned.length !== found.length) return [];
      return planned.flatMap(({ start_s, duration_s }, index) => [
        Math.abs(found[index]!.from_s - start_s),
        Math.abs(found[index]!.to_s - start_s - duration_s),
      ]);
    });
    expect(offs.filter((seconds) => seconds <= 5).length / offs.length).toBeGreaterThanOrEqual(0.9);
  });

  it('run-shape measures heart rate drift to within three percentage points in at least 90 % of the even sessions', () => {
    const offs = judged.flatMap(({ truth, shape }) => {
      const planned = truth.heart_rate_drift_percent;
      const found = shape.heart_rate_drift_percent;
      return truth.repetitions > 0 || planned === null || found === null ? [] : [Math.abs(found - planned)];
    });
    expect(offs.length).toBeGreaterThan(100);
    expect(offs.filter((points) => points <= 3).length / offs.length).toBeGreaterThanOrEqual(0.9);
  });

  it('run-shape finds the planned distance and duration of repetitions in at least 90 % of the runs and swims with repetitions', () => {
    const sessions = judged.filter(
      ({ truth, shape }) =>
        shape.repetitions && ['intervals', 'swim'].includes(truth.profile) && !isRide(truth),
    );
    const right = sessions.filter(
      ({ truth, shape }) =>
        shape.repetitions!.distance_m === truth.repetition_distance_m &&
        shape.repetitions!.duration_s === truth.repetition_duration_s,
    );
    expect(right.length / sessions.length).toBeGreaterThanOrEqual(0.9);
  });

  it('run-shape finds the profile of more than 80 % of the workouts of an unknown athlete', () => {
    const few = [FIRST_ATHLETE, FIRST_ATHLETE + 1, FIRST_ATHLETE + 2, FIRST_ATHLETE + 3].flatMap((seed) =>
      judge(seed, false),
    );
    const right = few.filter(({ truth, shape }) => shape.profile === expectedOf(truth));
    expect(right.length / few.length).toBeGreaterThan(0.8);
  });
});

function judge(seed: number, isKnown = true): Judged[] {
  const history = createHistory({
    seed,
    count: ACTIVITIES_EACH + EARLIER,
    endsAtMs: Date.UTC(2026, 10, 18, 9),
  });
  const rows = history.map(rowOf);
  return history.slice(0, ACTIVITIES_EACH).map((activity, index) => {
    const streams = streamsOf(activity, READ);
    const usual = isKnown ? usualOf(rows.slice(index + 1, index + 1 + EARLIER)) : undefined;
    const recording = streams && readRecording({ ...streams });
    return { truth: truthOf(activity), shape: shapeOf(recording ?? null, { ...rows[index]!, usual }) };
  });
}

function rowOf(activity: Activity): Row {
  const summary = summaryOf(activity);
  return {
    sport_type: summary.sport_type,
    distance_m: summary.distance,
    moving_time_s: summary.moving_time,
    elapsed_time_s: summary.elapsed_time,
    elevation_gain_m: summary.total_elevation_gain,
    average_heartrate: summary.average_heartrate ?? null,
  };
}

function isRide({ sport_type }: Truth): boolean {
  return sport_type.endsWith('Ride');
}

function expectedOf({ profile }: Truth): Profile {
  if (profile === 'race') return 'race-like';
  return profile === 'manual' ? 'unrecorded' : profile;
}

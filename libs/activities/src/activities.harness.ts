// For specs only.
import { type DetailedActivity } from '#strava';

export function anActivity(change: Partial<DetailedActivity> = {}): DetailedActivity {
  return {
    id: '9007199254740993',
    name: 'Morning Run',
    sportType: 'Run',
    startTime: new Date('2026-11-18T06:00:00Z'),
    utcOffsetS: 3_600,
    timezone: 'Europe/Berlin',
    distanceM: 10_000,
    movingTimeS: 3_000,
    elapsedTimeS: 3_100,
    elevationGainM: 50,
    averageHeartrate: 150,
    maxHeartrate: 171,
    manual: false,
    private: false,
    visibility: 'everyone',
    externalId: null,
    uploadId: null,
    totalPhotoCount: 0,
    map: { polyline: 'abcdef', summaryPolyline: 'abc' },
    raw: {},
    description: 'easy',
    calories: 700,
    laps: [{ lap_index: 1 }],
    splits: [{ split: 1 }],
    ...change,
  };
}

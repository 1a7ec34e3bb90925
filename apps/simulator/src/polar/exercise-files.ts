import { isoSeconds, summaryOf } from '#training-world';
import { exerciseDocument } from './exercise-document.js';
import { type PolarExercise } from './exercise-log.js';
import { escaped } from './polar-xml.js';
import { type Recording, durationMsOf } from './recording.js';

const LONGEST_TITLE = 15;
const FILE_STEP_S = 5;

type Habits = Parameters<typeof exerciseDocument>[1];

/** A TCX file of one lap. Only here does an app see the title, cut to 15 characters. */
export function tcxOf(exercise: PolarExercise, recording: Recording, habits: Habits): string {
  const { activity } = exercise;
  const { calories, distance = 0 } = exerciseDocument(exercise, habits) as {
    calories?: number;
    distance?: number;
  };
  const start = isoSeconds(activity.startMs);
  return `<?xml version="1.0" encoding="UTF-8"?>
<TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Activities>
<Activity Sport="${tcxSport(activity.sport)}"><Id>${start}</Id><Lap StartTime="${start}">
<TotalTimeSeconds>${durationMsOf(exercise, habits.pauses) / 1000}</TotalTimeSeconds>
<DistanceMeters>${distance}</DistanceMeters><Calories>${calories ?? 0}</Calories>
<Intensity>Active</Intensity><TriggerMethod>Manual</TriggerMethod><Track>
${pointsOf(exercise, recording, trackpoint).join('\n')}
</Track></Lap><Notes>${escaped(titleOf(exercise))}</Notes></Activity>
</Activities></TrainingCenterDatabase>
`;
}

/** A GPX file, which exists only for a session with a route. */
export function gpxOf(exercise: PolarExercise, recording: Recording): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="Polar" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
${pointsOf(exercise, recording, routePoint).join('\n')}
</trkseg></trk></gpx>
`;
}

function titleOf({ activity }: PolarExercise): string {
  return summaryOf(activity).name.slice(0, LONGEST_TITLE);
}

function tcxSport(sport: string): string {
  return { Run: 'Running', TrailRun: 'Running', Ride: 'Biking', VirtualRide: 'Biking' }[sport] ?? 'Other';
}

type Point = (time: string, recording: Recording, second: number) => string;

function pointsOf({ activity }: PolarExercise, recording: Recording, point: Point): string[] {
  return Array.from({ length: Math.floor(recording.seconds / FILE_STEP_S) + 1 }, (_, index) => {
    const second = index * FILE_STEP_S;
    return point(isoSeconds(activity.startMs + second * 1000), recording, second);
  }).filter((line) => line !== '');
}

const trackpoint: Point = (time, recording, second) => {
  const position = recording.positionAt(second);
  const [latitude, longitude] = position ?? [];
  const value = (key: Parameters<Recording['valueAt']>[0]) => recording.valueAt(key, second);
  return [
    `<Trackpoint><Time>${time}</Time>`,
    position &&
      `<Position><LatitudeDegrees>${latitude}</LatitudeDegrees><LongitudeDegrees>${longitude}</LongitudeDegrees></Position>`,
    element('AltitudeMeters', value('altitude')),
    element('DistanceMeters', value('distance')),
    value('heartrate') !== null && `<HeartRateBpm>${element('Value', value('heartrate'))}</HeartRateBpm>`,
    '</Trackpoint>',
  ]
    .filter(Boolean)
    .join('');
};

const routePoint: Point = (time, recording, second) => {
  const position = recording.positionAt(second);
  if (!position) return '';
  const height = element('ele', recording.valueAt('altitude', second));
  return `<trkpt lat="${position[0]}" lon="${position[1]}">${height}<time>${time}</time></trkpt>`;
};

function element(name: string, value: number | null): string {
  return value === null ? '' : `<${name}>${value}</${name}>`;
}

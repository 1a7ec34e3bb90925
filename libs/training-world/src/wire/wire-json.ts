import { type Activity } from '../activity.js';
import { detailPartsOf } from './detail.js';
import { type Lap, type MetaAthlete, type SummaryActivity } from './shapes.js';
import { summaryOf } from './summary.js';

/**
 * Writes JSON with ids of any size as bare numbers, like Strava. A key inside a text value cannot match, because the quotes
 * in a text value are escaped.
 */
export function wireJson(value: unknown): string {
  return JSON.stringify(value).replace(/"(id|upload_id|athlete_id|activity_id)":"(\d+)"/g, '"$1":$2');
}

/** The same data as `wireJson(summaryOf(activity))`, but faster for pages of 200, because it needs no regex for the ids. */
export function summaryJson(activity: Activity): string {
  return summaryText(summaryOf(activity));
}

/** The same data as `wireJson(detailOf(activity))` in half the time. */
export function detailJson(activity: Activity): string {
  const { summary, beyond } = detailPartsOf(activity);
  const { laps } = beyond;
  beyond.laps = undefined;
  const lapsText = laps ? `,"laps":[${laps.map(lapText).join(',')}]` : '';
  return `${summaryText(summary).slice(0, -1)},${JSON.stringify(beyond).slice(1, -1)}${lapsText}}`;
}

/** Writes the ids as bare numbers without a regex. It sets these fields of `summary` to undefined. */
function summaryText(summary: Partial<SummaryActivity>): string {
  const { id, upload_id, athlete } = summary;
  summary.id = summary.upload_id = summary.athlete = undefined;
  const ids = `"id":${id},"upload_id":${upload_id},"athlete":${athleteText(athlete!)}`;
  return `{${ids},${JSON.stringify(summary).slice(1)}`;
}

function lapText(lap: Partial<Lap>): string {
  const { id, activity, athlete } = lap;
  lap.id = lap.activity = lap.athlete = undefined;
  const { visibility } = activity!;
  const of = `{"id":${activity!.id},"visibility":"${visibility}","resource_state":1}`;
  return `{"id":${id},"activity":${of},"athlete":${athleteText(athlete!)},${JSON.stringify(lap).slice(1)}`;
}

function athleteText({ id }: MetaAthlete): string {
  return `{"id":${id},"resource_state":1}`;
}

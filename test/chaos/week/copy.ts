import { type Change } from '../change-readers.js';

interface ActivityItem {
  readonly id: string;
  readonly provider: string;
  readonly external_activity_id: string;
  readonly name: string;
  readonly stream_fetch_status: string;
}

interface NightItem {
  readonly date: string;
  readonly duration_minutes: number;
  readonly quality_score: number | null;
  readonly vendor: string;
}

/** The copy of an app's backend that has read every change and nothing else (docs/apps.md). */
export class Copy {
  private readonly activities = new Map<string, Map<string, ActivityItem>>();
  private readonly nights = new Map<string, Map<string, NightItem>>();

  apply({ type, athlete_id: athlete, subject_id: subject, data }: Change): void {
    const activities = entryOf(this.activities, athlete);
    const nights = entryOf(this.nights, athlete);
    if (type === 'activity.deleted') activities.delete(subject);
    else if (/^(activity|streams)\./.test(type) && data) activities.set(subject, data as ActivityItem);
    else if (type === 'sleep.removed') nights.delete(subject);
    else if (type === 'sleep.stored' && data) nights.set(subject, data as NightItem);
    else if (type === 'connection.removed') removeVendor(subject, activities, nights);
    else if (type === 'athlete.deleted') {
      this.activities.delete(athlete);
      this.nights.delete(athlete);
    }
  }

  get activityIds(): string[] {
    return [...this.activities.values()].flatMap((ofAthlete) => [...ofAthlete.keys()]);
  }

  /** One line for each activity and night, to be compared with the lines of the database. */
  lines(): string[] {
    const activities = [...this.activities].flatMap(([athlete, items]) =>
      [...items.values()].map((item) => activityLine({ athlete_id: athlete, ...item })),
    );
    const nights = [...this.nights].flatMap(([athlete, items]) =>
      [...items.values()].map((item) => nightLine({ athlete_id: athlete, ...item })),
    );
    return [...activities, ...nights];
  }
}

export const activityLine = (item: ActivityItem & { readonly athlete_id: string }): string =>
  ['activity', item.athlete_id, item.id, item.provider, item.external_activity_id, item.name].join(' ');

export const nightLine = (item: NightItem & { readonly athlete_id: string }): string =>
  ['night', item.athlete_id, item.date, item.duration_minutes, item.quality_score, item.vendor].join(' ');

function removeVendor(
  vendor: string,
  activities: Map<string, ActivityItem>,
  nights: Map<string, NightItem>,
): void {
  for (const [id, { provider }] of activities) if (provider === vendor) activities.delete(id);
  for (const [date, night] of nights) if (night.vendor === vendor) nights.delete(date);
}

function entryOf<V>(all: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const known = all.get(key) ?? new Map<string, V>();
  all.set(key, known);
  return known;
}

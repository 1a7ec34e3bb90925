import { Athletes } from '#connections';
import { Changes, createLogger, type Database, NO_ORIGIN } from '#platform';
import {
  type ActivityPage,
  type ActivitySource,
  type Aspect,
  type DetailedActivity,
  type Listing,
  type Sources,
  type SummaryActivity,
} from '#vendors';
import { type EventGroup } from '#webhooks';
import { ActivityEvents, Uploads } from './activity-events.js';
import { type ActivityOwner, ActivityStore } from './activity-store.js';
import { ImportChanges } from './imports/import-changes.js';
// For specs only.

export const atStrava = (athleteId: string): ActivityOwner => ({ athleteId, provider: 'strava' });

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
    totalPhotoCount: 0,
    map: { polyline: 'abcdef', summaryPolyline: 'abc' },
    description: 'easy',
    calories: 700,
    laps: [{ lap_index: 1 }],
    splits: [{ split: 1 }],
    ...change,
  };
}

/** An activity of a vendor's list. The activity may be hidden from the token, or the vendor's JSON of it cannot be parsed. */
export interface ListedActivity extends SummaryActivity {
  readonly isHidden?: boolean;
  readonly isUnreadable?: boolean;
}

/** The vendor whose activities are made here. It hides private activities from a token without the full scope. */
export const STRAVAS_LIST = {
  events: 'each change',
  history: 'whole',
  fullScope: 'activity:read_all',
} as const;

/** Announces ends of imports from that vendor. */
export const importChangesIn = (database: Database) =>
  new ImportChanges(new Changes(database), { activities: () => STRAVAS_LIST as object as ActivitySource });

/** Lists as Strava does, newest first: cuts the page first and then drops hidden activities from it. */
export function listed(
  history: readonly ListedActivity[],
  { before, page = 1, perPage }: Listing,
): ActivityPage {
  const older = history
    .filter(({ startTime }) => !before || startTime < before)
    .sort((a, b) => b.startTime.getTime() - a.startTime.getTime());
  const seen = older.slice((page - 1) * perPage, page * perPage).filter(({ isHidden }) => !isHidden);
  return {
    activities: seen.filter(({ isUnreadable }) => !isUnreadable),
    unreadable: seen.filter(({ isUnreadable }) => isUnreadable),
    length: seen.length,
    oldestStart: seen.at(-1)?.startTime,
  };
}

/** The handler of events, with a vendor's scripted answers. The streams of uploads are not fetched. */
export function activityEvents(database: Database, source: Partial<ActivitySource>): ActivityEvents {
  const logger = createLogger({ level: 'silent', process: 'test' });
  const sources = { activities: () => source } as unknown as Sources;
  const uploads = new Uploads();
  uploads.register({ uploaded: () => Promise.resolve() });
  return new ActivityEvents(sources, new Athletes(database), new ActivityStore(), uploads, logger);
}

export function eventOf(aspect: Aspect, objectId: string, claimedAt: Date): EventGroup {
  const latest = { id: '1', aspect, eventTime: claimedAt, attempts: 1 };
  const object = { vendor: 'strava', ownerId: '134815', objectType: 'activity', objectId } as const;
  return { ...object, events: [latest], latest, claimedAt, origin: NO_ORIGIN };
}

import { type CallOutcome } from '../call/call-outcome.js';
import { type CallContext } from '../call/vendor-calls.js';

/** A vendor's activities. */
export interface ActivitySource {
  /** `each change`: the vendor sends events of uploads, edits and deletions. `uploads`: it sends none of edits and deletions. */
  readonly events: 'each change' | 'uploads';
  /** `whole`: the list goes back to the athlete's first activity. `since connection`: the vendor has nothing from before. */
  readonly history: 'whole' | 'since connection';
  /** The list has the activities of this many last days, and perhaps earlier ones. Absent: it goes back to the first activity. */
  readonly listedDays?: number;
  /** The scope that shows all activities. Without it some are hidden from us. Absent: none is hidden. */
  readonly fullScope?: string;
  /**
   * With the `whole` history: newest first, and only an empty page ends the list, since other pages may have fewer than `perPage` items too.
   * `since connection`: one call returns the whole list in any order, and `listing` is of no use.
   */
  list(context: CallContext, listing: Listing): Promise<CallOutcome<ActivityPage>>;
  activity(context: CallContext, externalId: string): Promise<CallOutcome<DetailedActivity>>;
  photos(context: CallContext, externalId: string): Promise<CallOutcome<readonly Photo[]>>;
  /** Sent once: after a lost answer the caller reads the activity before it writes again. Absent: the vendor's activities cannot be changed. */
  update?(
    context: CallContext,
    externalId: string,
    changes: ActivityChanges,
  ): Promise<CallOutcome<DetailedActivity>>;
  /** Reads laps, which are stored as the vendor sent them. Leaves out items that cannot be read. */
  laps(stored: readonly unknown[]): readonly Lap[];
  /** Reads the splits per kilometre, stored like laps. */
  splits(stored: readonly unknown[]): readonly Split[];
}

export interface Listing {
  /** Exclusive. */
  readonly before?: Date;
  /** The first page is 1, the default. */
  readonly page?: number;
  /** At most 200. */
  readonly perPage: number;
}

export interface ActivityChanges {
  readonly name?: string;
  readonly description?: string;
}

/** An activity as the vendor lists it. */
export interface SummaryActivity {
  readonly id: string;
  readonly name: string;
  readonly sportType: string;
  readonly startTime: Date;
  readonly utcOffsetS: number;
  /** An IANA name such as `Europe/Berlin`. */
  readonly timezone: string | null;
  readonly distanceM: number;
  readonly movingTimeS: number;
  readonly elapsedTimeS: number;
  readonly elevationGainM: number;
  readonly averageHeartrate: number | null;
  readonly maxHeartrate: number | null;
  readonly manual: boolean;
  readonly private: boolean;
  readonly totalPhotoCount: number;
  readonly map: ActivityMap | null;
}

interface ActivityMap {
  readonly polyline: string | null;
  readonly summaryPolyline: string | null;
}

/** An activity as the vendor returns it by id. */
export interface DetailedActivity extends SummaryActivity {
  readonly description: string | null;
  readonly calories: number | null;
  /** As the vendor sent them. */
  readonly laps: readonly unknown[];
  /** Per kilometre, as the vendor sent them. */
  readonly splits: readonly unknown[];
}

/**
 * One page of an athlete's list. A vendor may cut the page first and then drop the activities that the token may not read, so a page with
 * fewer items than requested is not the end of the list.
 */
export interface ActivityPage {
  readonly activities: readonly SummaryActivity[];
  /** The activities whose details are in the list, too. These details cost no further call. */
  readonly details?: readonly DetailedActivity[];
  readonly unreadable: readonly UnreadableItem[];
  /** All items on the page, readable or not. */
  readonly length: number;
  /** The earliest start of all items, readable or not; undefined if none has a start. The next page begins there. */
  readonly oldestStart: Date | undefined;
}

/** A list item that cannot be parsed as an activity, with the fields that could be read. */
export interface UnreadableItem {
  readonly id: string | undefined;
  readonly startTime: Date | undefined;
}

export interface Photo {
  readonly id: string;
  readonly caption: string | null;
  /** URLs by the length of the longer side in pixels. */
  readonly urls: Readonly<Record<string, string>>;
  readonly takenAt: Date | null;
  readonly location: readonly [latitude: number, longitude: number] | null;
  /** True for the activity's cover photo. */
  readonly isDefault: boolean;
}

/** The fields that laps and splits share. A vendor may omit any of them. */
export interface ActivityPart {
  readonly number: number | null;
  readonly distance_m: number | null;
  readonly moving_time_s: number | null;
  readonly elapsed_time_s: number | null;
  readonly average_speed_m_s: number | null;
  readonly average_heartrate: number | null;
}

export interface Lap extends ActivityPart {
  readonly id: string | null;
  readonly name: string | null;
  readonly start_time: Date | null;
  readonly elevation_gain_m: number | null;
  readonly max_speed_m_s: number | null;
  readonly max_heartrate: number | null;
  readonly average_cadence: number | null;
  readonly average_watts: number | null;
  readonly start_index: number | null;
  readonly end_index: number | null;
}

export interface Split extends ActivityPart {
  readonly elevation_difference_m: number | null;
}

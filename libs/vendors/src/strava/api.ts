import { z } from 'zod';
import { type CallFailure, type CallOutcome } from '../call/call-outcome.js';
import { type CallContext, type VendorCalls } from '../call/vendor-calls.js';
import { type AccountSource } from '../capabilities/account.js';
import {
  type ActivityChanges,
  type ActivityPage,
  type ActivitySource,
  type DetailedActivity,
  type Listing,
  type Photo,
} from '../capabilities/activities.js';
import { type RawStreams, type StreamSource } from '../capabilities/streams.js';
import { toDetail, toPage } from './wire/activity.js';
import { toLaps, toSplits } from './wire/laps-and-splits.js';
import { toPhotos } from './wire/photo.js';
import { Id } from './wire/values.js';

const LARGEST_PAGE = 200;
const PHOTO_SIZE = 2_048;

/** All keys that Strava documents. Strava omits the streams that an activity does not have. */
const CHANNELS = [
  'time',
  'distance',
  'latlng',
  'altitude',
  'velocity_smooth',
  'heartrate',
  'cadence',
  'watts',
  'temp',
  'moving',
  'grade_smooth',
];
// The streams of 24 hours at one sample a second have about 8 MB.
const STREAMS_MAX_BYTES = 24 * 1024 * 1024;

const Items = z.array(z.unknown());
const Athlete = z.object({ id: Id });
const Streams = z.record(z.string(), z.unknown());

const NOT_FOUND: CallFailure = { kind: 'gone', reason: 'Strava has no activity with such an id' };

/** Strava's API: the athlete, the activities, and their streams, whose size is checked and not their content. */
export class StravaApi implements AccountSource, ActivitySource, StreamSource {
  readonly events = 'each change';
  readonly history = 'whole';
  readonly fullScope = 'activity:read_all';
  readonly laps = toLaps;
  readonly splits = toSplits;

  constructor(private readonly calls: VendorCalls) {}

  athlete(context: CallContext): Promise<CallOutcome<{ readonly id: string }>> {
    return this.calls.call(context, { endpoint: 'athlete', path: '/athlete' }, (json) => Athlete.parse(json));
  }

  list(context: CallContext, { before, page = 1, perPage }: Listing): Promise<CallOutcome<ActivityPage>> {
    const query = new URLSearchParams({ page: `${page}`, per_page: `${Math.min(perPage, LARGEST_PAGE)}` });
    // Strava accepts whole seconds. The bound is rounded up, so that no activity is left out.
    if (before) query.set('before', `${Math.ceil(before.getTime() / 1_000)}`);
    const path = `/athlete/activities?${query.toString()}`;
    return this.calls.call(context, { endpoint: 'activities', path }, (json) => toPage(Items.parse(json)));
  }

  async activity(context: CallContext, externalId: string): Promise<CallOutcome<DetailedActivity>> {
    const path = activityPath(externalId);
    if (path === undefined) return NOT_FOUND;
    return this.calls.call(context, { endpoint: 'activity', path, holdsSlot: true }, toDetail);
  }

  async photos(context: CallContext, externalId: string): Promise<CallOutcome<readonly Photo[]>> {
    const activity = activityPath(externalId);
    if (activity === undefined) return NOT_FOUND;
    const path = `${activity}/photos?size=${PHOTO_SIZE}&photo_sources=true`;
    return this.calls.call(context, { endpoint: 'photos', path }, (json) => toPhotos(Items.parse(json)));
  }

  async update(
    context: CallContext,
    externalId: string,
    { name, description }: ActivityChanges,
  ): Promise<CallOutcome<DetailedActivity>> {
    const path = activityPath(externalId);
    if (path === undefined) return NOT_FOUND;
    const body = JSON.stringify({ name, description });
    const request = { endpoint: 'update_activity', method: 'PUT', path, body, repeatable: false } as const;
    return this.calls.call(context, request, toDetail);
  }

  async streams(context: CallContext, externalId: string): Promise<CallOutcome<RawStreams>> {
    const activity = activityPath(externalId);
    if (activity === undefined) return NOT_FOUND;
    const query = new URLSearchParams({ keys: CHANNELS.join(','), key_by_type: 'true' });
    const request = {
      endpoint: 'streams',
      path: `${activity}/streams?${query.toString()}`,
      maxBytes: STREAMS_MAX_BYTES,
      holdsSlot: true,
      needsCounters: true,
    };
    return this.calls.call(context, request, (json) => samplesOf(Streams.parse(json)));
  }
}

/** Undefined if the id cannot be one of Strava's. */
function activityPath(id: string): string | undefined {
  return /^\d{1,20}$/.test(id) ? `/activities/${id}` : undefined;
}

/** Unwraps `{ data: … }`. A value without `data` stays unchanged; the check of the recording refuses it. */
function samplesOf(streams: RawStreams): RawStreams {
  const entries = Object.entries(streams).map(([name, stream]) => {
    const isEnveloped = typeof stream === 'object' && stream !== null && 'data' in stream;
    return [name, isEnveloped ? stream.data : stream] as const;
  });
  return Object.fromEntries(entries);
}

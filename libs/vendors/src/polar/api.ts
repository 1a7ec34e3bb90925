import { type CallFailure, type CallOutcome, ok } from '../call/call-outcome.js';
import { type CallContext, type VendorCalls } from '../call/vendor-calls.js';
import { type ActivityPage, type ActivitySource, type DetailedActivity } from '../capabilities/activities.js';
import { readNights } from '../capabilities/reading.js';
import {
  type SleepList,
  type SleepObject,
  type SleepRecord,
  type SleepSource,
} from '../capabilities/sleep.js';
import { type RawStreams, type StreamSource } from '../capabilities/streams.js';
import { toExercise, toExercises } from './wire/exercise.js';
import { nightsIn, toNight } from './wire/night.js';
import { toStreams } from './wire/samples.js';
import { ExerciseId } from './wire/values.js';

// Samples and route of 24 hours at one value a second have about 10 MB.
const STREAMS_MAX_BYTES = 24 * 1024 * 1024;

const NOT_FOUND: CallFailure = { kind: 'gone', reason: 'Polar has no record with such an id' };

/**
 * Polar's exercises and their recordings. Both are visible for 30 days from their upload, which comes after their start, and only if they were
 * uploaded after the athlete connected. So a 404 for an older exercise does not mean that it was deleted.
 */
export class PolarExercises implements ActivitySource, StreamSource {
  readonly events = 'uploads';
  readonly history = 'since connection';
  readonly listedDays = 30;
  readonly laps = () => [];
  readonly splits = () => [];

  constructor(private readonly calls: VendorCalls) {}

  /** The whole list in one answer, in any order. */
  async list(context: CallContext): Promise<CallOutcome<ActivityPage>> {
    const page = await this.calls.call(context, { endpoint: 'exercises', path: '/exercises' }, toExercises);
    // An unknown list is no empty list: our exercises would count as deleted.
    return page.kind === 'gone' ? this.calls.answers.outage('it answered a list with 404') : page;
  }

  async activity(context: CallContext, externalId: string): Promise<CallOutcome<DetailedActivity>> {
    const path = exercisePath(externalId);
    if (path === undefined) return NOT_FOUND;
    return this.calls.call(context, { endpoint: 'exercise', path }, toExercise);
  }

  /** Polar has no photos. */
  photos(): Promise<CallOutcome<readonly never[]>> {
    return Promise.resolve(ok([]));
  }

  async streams(context: CallContext, externalId: string): Promise<CallOutcome<RawStreams>> {
    const exercise = exercisePath(externalId);
    if (exercise === undefined) return NOT_FOUND;
    const request = {
      endpoint: 'samples',
      path: `${exercise}?samples=true&route=true`,
      maxBytes: STREAMS_MAX_BYTES,
      holdsSlot: true,
      needsCounters: true,
    };
    return this.calls.call(context, request, toStreams);
  }
}

/** Undefined if the id cannot be one of Polar's. */
function exercisePath(id: string): string | undefined {
  return ExerciseId.safeParse(id).success ? `/exercises/${id}` : undefined;
}

/** Polar's nights of the last 28 days, one for each date of waking. */
export class PolarNights implements SleepSource {
  readonly namedBy = 'date';
  readonly listedDays = 28;

  constructor(private readonly calls: VendorCalls) {}

  async recordsOf(context: CallContext, { id }: SleepObject): Promise<CallOutcome<readonly SleepRecord[]>> {
    if (!/^\d{4}-\d\d-\d\d$/.test(id)) return NOT_FOUND;
    const request = { endpoint: 'sleep', path: `/users/sleep/${id}` };
    return this.calls.call(context, request, (json) => [toNight(json)]);
  }

  /** Returns all nights that Polar shows. The dates are ignored. */
  async list(context: CallContext): Promise<CallOutcome<SleepList>> {
    const nights = await this.calls.call(context, { endpoint: 'sleep', path: '/users/sleep' }, nightsIn);
    if (nights.kind === 'gone') return this.calls.answers.outage('it answered a list with 404');
    return nights.kind === 'ok' ? ok(readNights(nights.value, toNight)) : nights;
  }
}

import { z } from 'zod';
import { type SleepRecord } from '../../capabilities/sleep.js';
import { maybe } from '../../capabilities/reading.js';

const SECONDS_OF_A_MINUTE = 60;
const MINUTE_MS = 60_000;
const BEST_SCORE = 100;

const Seconds = z
  .number()
  .nullish()
  .transform((value) => (value != null && value >= 0 ? value : null));

const WireNight = z.looseObject({
  date: z.iso.date(),
  sleep_start_time: maybe(z.iso.datetime({ offset: true })),
  sleep_end_time: maybe(z.iso.datetime({ offset: true })),
  light_sleep: Seconds,
  deep_sleep: Seconds,
  rem_sleep: Seconds,
  unrecognized_sleep_stage: Seconds,
  total_interruption_duration: Seconds,
  sleep_score: z.number().nullish(),
});
type WireNight = z.output<typeof WireNight>;

const Raw = z.record(z.string(), z.unknown());

/**
 * A night of Polar. It has no id, so `date` names it; no revision, and no time of its last change. The record's date is the local date of
 * waking, which Polar's `date` should be. Throws a ZodError if the document is no night.
 */
export function toNight(json: unknown): SleepRecord {
  const night = WireNight.parse(json);
  const asleepS = asleepSeconds(night);
  const score = night.sleep_score ?? 0;
  return {
    id: night.date,
    revision: 0,
    nap: false,
    state: asleepS === null ? 'pending' : 'scored',
    date: night.sleep_end_time?.slice(0, 10) ?? night.date,
    durationMinutes: Math.round((asleepS ?? 0) / SECONDS_OF_A_MINUTE),
    updatedAt: null,
    // A watch without sleep scores sends 0.
    qualityScore: score > 0 && score <= BEST_SCORE ? score : null,
    document: Raw.parse(json),
  };
}

/** The sum of the stages; without stages, the night without its interruptions. Null if neither is known. */
function asleepSeconds(night: WireNight): number | null {
  const { light_sleep, deep_sleep, rem_sleep, unrecognized_sleep_stage } = night;
  const stages = [light_sleep, deep_sleep, rem_sleep, unrecognized_sleep_stage].filter(
    (seconds) => seconds !== null,
  );
  if (stages.length > 0) return stages.reduce((sum, seconds) => sum + seconds, 0);
  const { sleep_start_time: start, sleep_end_time: end, total_interruption_duration: awake } = night;
  if (start === null || end === null) return null;
  const inBedS = ((Date.parse(end) - Date.parse(start)) / MINUTE_MS) * SECONDS_OF_A_MINUTE;
  return Math.max(0, inBedS - (awake ?? 0));
}

const Nights = z.object({ nights: z.array(z.unknown()) });

/** The documents of the list, unparsed. Polar may answer an empty list with 204. */
export function nightsIn(json: unknown): readonly unknown[] {
  return json === undefined ? [] : Nights.parse(json).nights;
}

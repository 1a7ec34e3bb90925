/** A device's recording after validation: channels of equal length. */
export interface Recording {
  readonly channels: Readonly<Record<string, readonly unknown[]>>;
  readonly pointCount: number;
}

/** The message is stored and logged, so it never quotes a value that the vendor sent. */
export class RecordingMalformed extends Error {
  override readonly name = 'RecordingMalformed';
}

interface SampleKind {
  readonly accepts: (sample: unknown) => boolean;
  readonly problem: (sample: unknown) => string;
}

const MOST_CHANNELS = 64;
const MOST_SAMPLES = 500_000;
const LARGEST_NUMBER = 1e9;
const LONGEST_TEXT = 200;
const LONGEST_LIST = 8;
const NAME = /^[a-z][a-z0-9_]{0,63}$/;
// Postgres rejects a row with NUL or with half of a surrogate pair, also at each retry.
const NOT_STORABLE = /\0|\p{Surrogate}/u;

const seconds: SampleKind = {
  accepts: (sample) => isNumber(sample) && sample >= 0,
  problem: numberProblem,
};

const number: SampleKind = {
  accepts: (sample) => sample === null || isNumber(sample),
  problem: numberProblem,
};

const coordinates: SampleKind = {
  accepts: (sample) => sample === null || isPosition(sample),
  problem: () => 'is not a pair of coordinates',
};

const truthValue: SampleKind = {
  accepts: (sample) => typeof sample === 'boolean',
  problem: () => 'is neither true nor false',
};

const anything: SampleKind = {
  accepts: (sample) => isPlain(sample) || isShortList(sample),
  problem: () => 'is neither a plain value nor a short list of numbers',
};

const kinds: ReadonlyMap<string, SampleKind> = new Map([
  ['time', seconds],
  ['distance', number],
  ['latlng', coordinates],
  ['altitude', number],
  ['velocity_smooth', number],
  ['heartrate', number],
  ['cadence', number],
  ['watts', number],
  ['temp', number],
  ['moving', truthValue],
  ['grade_smooth', number],
]);

/**
 * Validates channels as `JSON.parse` returns them. Undefined if there is no sample at all. Throws `RecordingMalformed` for the
 * first fault. The message counts channels and samples from one.
 */
export function readRecording(raw: Readonly<Record<string, unknown>>): Recording | undefined {
  requireNames(Object.keys(raw));
  requireArrays(raw);
  if (Object.values(raw).every((samples) => samples.length === 0)) return undefined;
  const time = raw['time'];
  if (!time) throw new RecordingMalformed('time is missing');
  requireLengths(raw, time.length);
  for (const [name, samples] of Object.entries(raw)) requireSamples(name, samples);
  requireOrder(time as readonly number[]);
  return { channels: raw, pointCount: time.length };
}

function requireNames(names: readonly string[]): void {
  if (names.length > MOST_CHANNELS)
    throw new RecordingMalformed(`${formatted(names.length)} channels, more than ${MOST_CHANNELS}`);
  const at = names.findIndex((name) => !NAME.test(name));
  if (at >= 0) throw new RecordingMalformed(`channel ${at + 1} has an invalid name`);
}

function requireArrays(
  raw: Readonly<Record<string, unknown>>,
): asserts raw is Readonly<Record<string, readonly unknown[]>> {
  for (const [name, samples] of Object.entries(raw))
    if (!Array.isArray(samples)) throw new RecordingMalformed(`${name}: is not a list of samples`);
}

function requireLengths(channels: Recording['channels'], length: number): void {
  if (length > MOST_SAMPLES)
    throw new RecordingMalformed(`time: ${formatted(length)} values, more than ${formatted(MOST_SAMPLES)}`);
  for (const [name, samples] of Object.entries(channels))
    if (samples.length !== length)
      throw new RecordingMalformed(
        `${name}: ${formatted(samples.length)} values, time has ${formatted(length)}`,
      );
}

function requireSamples(name: string, samples: readonly unknown[]): void {
  const { accepts, problem } = kinds.get(name) ?? anything;
  for (let at = 0; at < samples.length; at++)
    if (!accepts(samples[at]))
      throw new RecordingMalformed(`${name}: sample ${formatted(at + 1)} ${problem(samples[at])}`);
}

function requireOrder(time: readonly number[]): void {
  for (let at = 1; at < time.length; at++)
    if (time[at]! < time[at - 1]!)
      throw new RecordingMalformed(`time: goes backwards at sample ${formatted(at + 1)}`);
}

function isNumber(sample: unknown): sample is number {
  // The comparison is false for NaN, too.
  return typeof sample === 'number' && sample >= -LARGEST_NUMBER && sample <= LARGEST_NUMBER;
}

function numberProblem(sample: unknown): string {
  return typeof sample === 'number' && !Number.isNaN(sample) ? 'is out of range' : 'is not a number';
}

function isPosition(sample: unknown): boolean {
  if (!Array.isArray(sample) || sample.length !== 2) return false;
  const [latitude, longitude] = sample as unknown[];
  return isWithin(latitude, 90) && isWithin(longitude, 180);
}

function isWithin(degrees: unknown, most: number): boolean {
  return typeof degrees === 'number' && degrees >= -most && degrees <= most;
}

function isPlain(sample: unknown): boolean {
  if (typeof sample === 'string') return sample.length <= LONGEST_TEXT && !NOT_STORABLE.test(sample);
  return typeof sample === 'boolean' || isFiniteOrNull(sample);
}

function isShortList(sample: unknown): boolean {
  return Array.isArray(sample) && sample.length <= LONGEST_LIST && sample.every(isFiniteOrNull);
}

function isFiniteOrNull(value: unknown): boolean {
  return value === null || Number.isFinite(value);
}

function formatted(count: number): string {
  return count.toLocaleString('en-US');
}

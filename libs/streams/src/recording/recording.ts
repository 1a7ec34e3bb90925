/** What a device recorded: channels of one length, checked. */
export interface Recording {
  readonly channels: Readonly<Record<string, readonly unknown[]>>;
  readonly pointCount: number;
}

/** The message is for people and never quotes what the vendor sent: it goes into rows and logs. */
export class RecordingMalformed extends Error {
  override readonly name = 'RecordingMalformed';
}

interface Kind {
  readonly accepts: (sample: unknown) => boolean;
  readonly complaint: (sample: unknown) => string;
}

const MOST_CHANNELS = 64;
const MOST_SAMPLES = 500_000;
const LARGEST_NUMBER = 1e9;
const LONGEST_TEXT = 200;
const LONGEST_LIST = 8;
const NAME = /^[a-z][a-z0-9_]{0,63}$/;
// NUL and half of a surrogate pair: Postgres would refuse the row, now and at each retry.
const NOT_STORABLE = /\0|\p{Surrogate}/u;

const seconds: Kind = {
  accepts: (sample) => isNumber(sample) && sample >= 0,
  complaint: numberComplaint,
};

const number: Kind = {
  accepts: (sample) => sample === null || isNumber(sample),
  complaint: numberComplaint,
};

const coordinates: Kind = {
  accepts: (sample) => sample === null || isPosition(sample),
  complaint: () => 'is not a pair of coordinates',
};

const truth: Kind = {
  accepts: (sample) => typeof sample === 'boolean',
  complaint: () => 'is neither true nor false',
};

const anything: Kind = {
  accepts: (sample) => isPlain(sample) || isShortList(sample),
  complaint: () => 'is neither a plain value nor a short list of numbers',
};

const kinds: ReadonlyMap<string, Kind> = new Map([
  ['time', seconds],
  ['distance', number],
  ['latlng', coordinates],
  ['altitude', number],
  ['velocity_smooth', number],
  ['heartrate', number],
  ['cadence', number],
  ['watts', number],
  ['temp', number],
  ['moving', truth],
  ['grade_smooth', number],
]);

/**
 * Channels as they came out of `JSON.parse`. Undefined: there is not one sample. Throws a `RecordingMalformed` for the first
 * thing that is wrong, counting channels and samples from one.
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
    throw new RecordingMalformed(`${counted(names.length)} channels, more than ${MOST_CHANNELS}`);
  const at = names.findIndex((name) => !NAME.test(name));
  if (at >= 0) throw new RecordingMalformed(`channel ${at + 1} has a name that none can have`);
}

function requireArrays(
  raw: Readonly<Record<string, unknown>>,
): asserts raw is Readonly<Record<string, readonly unknown[]>> {
  for (const [name, samples] of Object.entries(raw))
    if (!Array.isArray(samples)) throw new RecordingMalformed(`${name}: is not a list of samples`);
}

function requireLengths(channels: Recording['channels'], length: number): void {
  if (length > MOST_SAMPLES)
    throw new RecordingMalformed(`time: ${counted(length)} values, more than ${counted(MOST_SAMPLES)}`);
  for (const [name, samples] of Object.entries(channels))
    if (samples.length !== length)
      throw new RecordingMalformed(`${name}: ${counted(samples.length)} values, time has ${counted(length)}`);
}

function requireSamples(name: string, samples: readonly unknown[]): void {
  const { accepts, complaint } = kinds.get(name) ?? anything;
  for (let at = 0; at < samples.length; at++)
    if (!accepts(samples[at]))
      throw new RecordingMalformed(`${name}: sample ${counted(at + 1)} ${complaint(samples[at])}`);
}

function requireOrder(time: readonly number[]): void {
  for (let at = 1; at < time.length; at++)
    if (time[at]! < time[at - 1]!)
      throw new RecordingMalformed(`time: goes backwards at sample ${counted(at + 1)}`);
}

function isNumber(sample: unknown): sample is number {
  // False for NaN, too.
  return typeof sample === 'number' && sample >= -LARGEST_NUMBER && sample <= LARGEST_NUMBER;
}

function numberComplaint(sample: unknown): string {
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

function counted(count: number): string {
  return count.toLocaleString('en-US');
}

import { type Band, type Channel } from '../../charts/channel.js';
import { effort, roundPaces, roundSpeeds, type SpeedKind } from '../../format/effort.js';
import { height, type Units } from '../../format/units.js';
import { type Streams } from './queries.js';

const AXIS_METRES: Record<Units, Record<'pace' | 'swim', number>> = {
  km: { pace: 1000, swim: 100 },
  mi: { pace: 1609.344, swim: 91.44 },
};

type Data = NonNullable<Streams['stream_data']>;

/** Seconds since the first sample, as segments count them. */
export function secondsOf({ time }: Data): number[] {
  const first = time?.[0] ?? 0;
  return time?.map((second) => second - first) ?? [];
}

/** The charts of an activity: the channels that were recorded, in the order of their use. */
export function channelsOf(data: Data, kind: SpeedKind, units: Units): Channel[] {
  const whole = (unit: string) => (value: number | null) =>
    value === null ? '–' : `${round(value)} ${unit}`;
  const all: Array<Omit<Channel, 'values'> & { readonly values: Channel['values'] | undefined }> = [
    {
      id: 'velocity_smooth',
      label: kind === 'speed' ? 'Speed' : 'Pace',
      unit: effort(1, kind, units).replace(/^\S+ ?/, ''),
      values: data.velocity_smooth,
      colour: '--accent',
      format: (value) => (value === 0 && kind !== 'speed' ? 'standing' : effort(value, kind, units)),
      tick: (value) => effort(value, kind, units).replace(/(\.0)? .*/, ''),
      ticks: (min, max) =>
        kind === 'speed' ? roundSpeeds(min, max, units) : roundPaces(min, max, AXIS_METRES[units][kind]),
    },
    {
      id: 'heartrate',
      label: 'Heart rate',
      unit: 'bpm',
      values: data.heartrate,
      colour: '--bad',
      format: whole('bpm'),
      tick: String,
    },
    {
      id: 'altitude',
      label: 'Altitude',
      values: data.altitude,
      colour: '--quiet',
      format: (value) => height(value, units),
    },
    {
      id: 'cadence',
      label: 'Cadence',
      unit: '/min',
      values: data.cadence,
      colour: '--waiting',
      format: whole('/min'),
      tick: String,
    },
    {
      id: 'watts',
      label: 'Power',
      unit: 'W',
      values: data.watts,
      colour: '--busy',
      format: whole('W'),
      tick: String,
    },
  ];
  return all.filter(
    (channel): channel is Channel => channel.values?.some((value) => value !== null) ?? false,
  );
}

const round = (value: number) => Math.round(value).toLocaleString('en');

const BAND_COLOURS: Readonly<Record<string, string>> = {
  warmup: '--waiting-soft',
  work: '--good-soft',
  recovery: '--quiet-soft',
  climb: '--busy-soft',
  steady: '--good-soft',
  cooldown: '--waiting-soft',
};

export const bandColour = (kind: string) => BAND_COLOURS[kind] ?? '--quiet-soft';

export function bandsOf(segments: ReadonlyArray<{ kind: string; from_s: number; to_s: number }>): Band[] {
  // One segment is the whole recording and distinguishes nothing.
  if (segments.length < 2) return [];
  return segments.map(({ kind, from_s, to_s }) => ({ from: from_s, to: to_s, colour: bandColour(kind) }));
}

/** Distances, heights and paces, in the units that the person chose. A minus sign and a thin space are typographic. */
export type Units = 'km' | 'mi';

const METRES: Record<Units, number> = { km: 1000, mi: 1609.344 };
const FEET_PER_METRE = 1 / 0.3048;
const NONE = '–';

/** 12,345 m → `12.35 km`; from 100 on with one decimal. */
export function distance(metres: number | null | undefined, units: Units): string {
  if (metres === null || metres === undefined) return NONE;
  const value = metres / METRES[units];
  return `${decimal(value, value >= 100 ? 1 : 2)} ${units}`;
}

export function height(metres: number | null | undefined, units: Units): string {
  if (metres === null || metres === undefined) return NONE;
  return units === 'km' ? `${decimal(metres, 0)} m` : `${decimal(metres * FEET_PER_METRE, 0)} ft`;
}

/** Metres per second → `4:35 /km`. A person who stands has no pace. */
export function pace(metresPerSecond: number | null | undefined, units: Units): string {
  if (!metresPerSecond || metresPerSecond <= 0) return NONE;
  return `${minutes(METRES[units] / metresPerSecond)} /${units}`;
}

/** Metres per second → `31.4 km/h`. */
export function speed(metresPerSecond: number | null | undefined, units: Units): string {
  if (metresPerSecond === null || metresPerSecond === undefined) return NONE;
  return `${decimal((metresPerSecond * 3600) / METRES[units], 1)} ${units === 'km' ? 'km/h' : 'mph'}`;
}

function minutes(seconds: number): string {
  const rounded = Math.round(seconds);
  return `${Math.floor(rounded / 60)}:${String(rounded % 60).padStart(2, '0')}`;
}

function decimal(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

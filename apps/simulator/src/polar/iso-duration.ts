/**
 * `PT2H44M45.5S`, or with `isInSeconds` `PT9885.5S`: Polar writes both. Milliseconds are a fraction without closing zeros.
 */
export function isoDuration(ms: number, isInSeconds = false): string {
  const wholeMs = Math.round(ms);
  if (isInSeconds || wholeMs === 0) return `PT${wholeMs / 1000}S`;
  const hours = Math.floor(wholeMs / 3_600_000);
  const minutes = Math.floor(wholeMs / 60_000) % 60;
  const seconds = (wholeMs % 60_000) / 1000;
  return `PT${part(hours, 'H')}${part(minutes, 'M')}${part(seconds, 'S')}`;
}

function part(value: number, unit: string): string {
  return value === 0 ? '' : `${value}${unit}`;
}

/** Which part of a recording a reader wants; all of it by default. */
export interface Cut {
  /** Those that are not there are left out. */
  readonly channels?: readonly string[];
  /** At least 2. */
  readonly points?: number;
}

/** The same for the same part, whatever the order it was asked for in; empty for all of it. */
export function cutName({ channels, points }: Cut): string {
  const names = channels && [...new Set(channels)].sort().join('+');
  return [points && `points=${points}`, names !== undefined && `channels=${names}`].filter(Boolean).join('.');
}

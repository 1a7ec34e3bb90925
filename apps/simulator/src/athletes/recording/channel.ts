/**
 * A channel as whole numbers: `values[i] / 10 ** decimals`. Rounding happens once, here, and writing JSON needs no
 * floating point. `latlng` holds two values a sample, `moving` 0 or 1.
 */
export interface Channel {
  readonly values: Int32Array;
  readonly decimals: number;
}

/** A hard part in one go, in cells. */
export interface Bout {
  readonly from: number;
  readonly to: number;
}

import { type Store, storeOf } from '../app/store.js';

/** The sample under the cursor and the stretch that is zoomed into. Charts, map and tables of one page share it. */
export interface View {
  /** The index of the sample; null if the cursor is nowhere. */
  readonly cursor: Store<number | null>;
  /** First and last value of the x axis; null shows everything. */
  readonly zoom: Store<readonly [from: number, to: number] | null>;
}

export function viewOf(): View {
  return { cursor: storeOf<number | null>(null), zoom: storeOf<readonly [number, number] | null>(null) };
}

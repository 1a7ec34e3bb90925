import { type Facts } from '../facts.js';
import { type RunShape } from '../run-shape.js';

export interface ShapeRequest {
  /** A stored answer: gzipped JSON with `stream_data` in it. Null: nothing was recorded. */
  readonly body: Uint8Array | null;
  readonly facts: Facts;
}

export type ShapeAnswer = { readonly shape: RunShape } | { readonly error: string };

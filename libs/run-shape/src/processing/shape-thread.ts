import { parentPort } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import { type Recording } from '#streams';
import { shapeOf } from '../shape-of.js';
import { type ShapeFacts } from '../facts.js';
import { type RunShape } from '../run-shape.js';

export interface ShapeRequest {
  /** A stored answer: gzipped JSON with `stream_data`. Null if nothing was recorded. */
  readonly body: Uint8Array | null;
  readonly facts: ShapeFacts;
}

export type ShapeOutcome = { readonly shape: RunShape } | { readonly error: string };

// The event loop must not wait for this work. A recording of an hour takes about 20 ms, a recording of a day half a second.
parentPort?.on('message', (request: ShapeRequest) => parentPort?.postMessage(answerShape(request)));

// The largest body that is stored.
const LARGEST_BYTES = 256 * 1024 * 1024;

/** Returns an error for malformed bytes, so that the thread survives. */
function answerShape({ body, facts }: ShapeRequest): ShapeOutcome {
  try {
    return { shape: shapeOf(body && recordingIn(body), facts) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Does not validate, because every sample was validated before it was stored. */
function recordingIn(body: Uint8Array): Recording {
  const json = gunzipSync(body, { maxOutputLength: LARGEST_BYTES }).toString();
  const { stream_data, point_count } = JSON.parse(json) as {
    stream_data: Recording['channels'];
    point_count: number;
  };
  return { channels: stream_data, pointCount: point_count };
}

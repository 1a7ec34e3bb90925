import { gunzipSync } from 'node:zlib';
import { type Recording } from '#streams';
import { shapeOf } from '../shape-of.js';
import { type ShapeAnswer, type ShapeRequest } from './shape-request.js';

// As large as a stored answer may be.
const LARGEST_BYTES = 256 * 1024 * 1024;

/** Whatever is wrong with the bytes is an answer, too. */
export function answerShape({ body, facts }: ShapeRequest): ShapeAnswer {
  try {
    return { shape: shapeOf(body && recordingIn(body), facts) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** It was checked sample by sample before it was stored. */
function recordingIn(body: Uint8Array): Recording {
  const json = gunzipSync(body, { maxOutputLength: LARGEST_BYTES }).toString();
  const { stream_data, point_count } = JSON.parse(json) as {
    stream_data: Recording['channels'];
    point_count: number;
  };
  return { channels: stream_data, pointCount: point_count };
}

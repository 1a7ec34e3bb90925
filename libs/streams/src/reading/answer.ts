import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { downsample } from '../recording/downsample.js';
import { type Recording } from '../recording/recording.js';
import { type Cut } from './cut.js';

type Channels = Recording['channels'];

/** What a client reads; its keys come in this order. */
export interface StreamAnswer {
  readonly activity_id: string;
  readonly status: 'pending' | 'fetching' | 'success' | 'failed' | 'deferred' | 'unavailable';
  readonly stream_data: Channels | null;
  readonly channels_available: readonly string[];
  readonly point_count: number;
  readonly source: string;
  readonly fetched_at: string | null;
  readonly error: string | null;
  readonly retry_at: string | null;
}

type Success = StreamAnswer & { readonly stream_data: Channels };

export interface Stored {
  /** JSON text of the channels. */
  readonly streamData: string;
  readonly channels: readonly string[];
  readonly pointCount: number;
  /** The answer's JSON, gzipped. */
  readonly body: Buffer;
  /** Of the JSON, not of its gzip: another zlib may compress otherwise. Without quotes. */
  readonly etag: string;
}

// Of an hour, 4 ms for 65 kB; level 4 takes 3 ms for 69 kB, level 6 takes 6 ms and saves 1 %.
const STORED_LEVEL = 5;
// Compressed for one reader, who waits.
const NARROWED_LEVEL = 1;
// Each chunk of output is one more turn through the thread pool.
const CHUNK_BYTES = 64 * 1024;
// Numbers like 1e20 grow at most 4.4 times when written out, so 50 MB of a vendor's stay below.
export const LARGEST_BYTES = 256 * 1024 * 1024;

const compress = promisify<Buffer, object, Buffer>(gzip);
const decompress = promisify<Buffer, object, Buffer>(gunzip);

/** Once, when a recording is stored, everything that is sent of it later. */
export async function encode(
  activityId: string,
  source: string,
  fetchedAt: Date,
  recording: Recording,
): Promise<Stored> {
  const { channels, pointCount } = recording;
  const streamData = JSON.stringify(channels);
  const names = Object.keys(channels);
  const before = { activity_id: activityId, status: 'success' } satisfies Partial<StreamAnswer>;
  const after = {
    channels_available: names,
    point_count: pointCount,
    source,
    fetched_at: fetchedAt.toISOString(),
    error: null,
    retry_at: null,
  } satisfies Partial<StreamAnswer>;
  const json = Buffer.from(spliced(before, streamData, after));
  const body = await compress(json, { level: STORED_LEVEL, chunkSize: CHUNK_BYTES });
  const etag = createHash('sha256').update(json).digest('base64url');
  return { streamData, channels: names, pointCount, body, etag };
}

/** Another body from a stored one. What it says about the whole recording stays. */
export async function narrow(body: Buffer, cut: Cut): Promise<Buffer> {
  const json = await decompress(body, { maxOutputLength: LARGEST_BYTES, chunkSize: CHUNK_BYTES });
  const answer = JSON.parse(json.toString()) as Success;
  const narrowed = JSON.stringify({ ...answer, stream_data: chosen(answer, cut) });
  return compress(Buffer.from(narrowed), { level: NARROWED_LEVEL, chunkSize: CHUNK_BYTES });
}

/** The channels are stored by themselves, too, and writing them out takes longer than all the rest: so only once. */
function spliced(before: object, streamData: string, after: object): string {
  return `${JSON.stringify(before).slice(0, -1)},"stream_data":${streamData},${JSON.stringify(after).slice(1)}`;
}

function chosen(answer: Success, { channels, points }: Cut): Channels {
  const kept = channels ? only(answer.stream_data, new Set(channels)) : answer.stream_data;
  if (points === undefined) return kept;
  return downsample({ channels: kept, pointCount: answer.point_count }, points).channels;
}

function only(all: Channels, names: ReadonlySet<string>): Channels {
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
}

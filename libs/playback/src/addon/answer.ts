import { createHash } from 'node:crypto';

export interface Answer {
  readonly status: 200 | 404;
  readonly body: Buffer;
  readonly cacheControl: string;
  readonly etag?: string;
}

const NEVER = 'no-store';

/** For once: what depends on the moment, on who asks, or on trouble of ours. */
export function passing(value: unknown, status: Answer['status'] = 200): Answer {
  return { status, body: bytesOf(value), cacheControl: NEVER };
}

export function cacheable(value: unknown, cacheControl: string): Answer {
  const body = bytesOf(value);
  const etag = `"${createHash('sha1').update(body).digest('base64url')}"`;
  return { status: 200, body, cacheControl, etag };
}

function bytesOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

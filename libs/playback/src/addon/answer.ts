import { createHash } from 'node:crypto';

export interface AddonAnswer {
  readonly status: 200 | 404;
  readonly body: Buffer;
  readonly cacheControl: string;
  readonly etag?: string;
}

const NEVER = 'no-store';

/** An answer that no cache stores: it depends on the moment or on the client, or reports a failure. */
export function uncached(value: unknown, status: AddonAnswer['status'] = 200): AddonAnswer {
  return { status, body: bytesOf(value), cacheControl: NEVER };
}

/** An answer with an ETag, for clients and caches. */
export function cacheable(value: unknown, cacheControl: string): AddonAnswer {
  const body = bytesOf(value);
  const etag = `"${createHash('sha1').update(body).digest('base64url')}"`;
  return { status: 200, body, cacheControl, etag };
}

function bytesOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

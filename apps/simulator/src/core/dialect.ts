import { type FastifyRequest } from 'fastify';
import { type BucketUse } from './limits.js';
import { type Vendor } from './vendors.js';

export interface Problem {
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

/** What the shared door must know to speak for a vendor. */
export interface Dialect {
  readonly vendor: Vendor;
  /** Buckets this request is charged to, and the caller where they are kept per token; undefined when it is free. */
  charge(request: FastifyRequest): { buckets: readonly string[]; token?: string } | undefined;
  /** Rate headers of an answer, from the buckets as they stand; undefined for calls that show none. */
  rateHeaders?(request: FastifyRequest, uses: readonly BucketUse[]): Record<string, string> | undefined;
  /** The vendor's own words for "no such thing", "slow down" and "we are broken". */
  problem(status: 404 | 429 | 500, request: FastifyRequest, uses: readonly BucketUse[]): Problem;
  /** The 403 of a state that the vendor has: an app without a subscription, a user whose membership has expired. */
  forbidden?(): Problem;
  /** The name under which the judge looks for duplicates; undefined for what may be asked again and again. */
  resource?(request: FastifyRequest): string | undefined;
}

import { type FastifyRequest } from 'fastify';
import { type BucketUse } from './limits.js';
import { type Vendor } from './vendors.js';

interface Problem {
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

/** The vendor-specific part of `interceptRequests`: limits, headers, error bodies and names of resources. */
export interface Dialect {
  readonly vendor: Vendor;
  /** The buckets to charge. `token` is set if a bucket counts per token. Undefined if the request costs nothing. */
  charge(request: FastifyRequest): { buckets: readonly string[]; token?: string } | undefined;
  /** Rate headers of an answer; `uses` are the counters after the charge. Undefined for calls without rate headers. */
  rateHeaders?(request: FastifyRequest, uses: readonly BucketUse[]): Record<string, string> | undefined;
  /** The vendor's bodies of 404, 429 and 500. */
  problem(status: 404 | 429 | 500, request: FastifyRequest, uses: readonly BucketUse[]): Problem;
  /** The vendor's 403: an app without a subscription, or a user without a membership or without mandatory consents. */
  forbidden?(): Problem;
  /** Name of the fetched resource. A second fetch of the same name is a duplicate. Without a name a fetch is never a duplicate. */
  resource?(request: FastifyRequest): string | undefined;
}

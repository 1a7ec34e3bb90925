import { type FastifyRequest } from 'fastify';
import { bearerOf, type BucketPlan, type BucketUse, type Dialect } from '../core/index.js';
import { RATE_LIMIT } from './oura-facts.js';
import { problemBody } from './oura-problem.js';
import { type Oura } from './oura.js';

export const OURA_BUCKETS: readonly BucketPlan[] = [
  {
    name: 'token',
    aliases: ['per_token', 'read_15min'],
    seconds: RATE_LIMIT.windowSeconds,
    limit: RATE_LIMIT.perToken,
    scope: 'token',
  },
  {
    name: 'application',
    aliases: ['per_application', 'overall_15min'],
    seconds: RATE_LIMIT.windowSeconds,
    limit: RATE_LIMIT.perApplication,
    scope: 'app',
  },
];

const METERED = new Set(['personal_info', 'sleep', 'daily_sleep']);
const BOTH_LAYERS = OURA_BUCKETS.map(({ name }) => name);

/** Oura's limits, errors and names of resources. Oura sends rate headers with a 429 only. */
export function ouraDialect(oura: Oura): Dialect {
  return {
    vendor: 'oura',

    /** A token that Oura never issued belongs to no application, so the call is not charged. */
    charge(request) {
      const token = bearerOf(request);
      if (!token || !METERED.has(endpointOf(request)) || !oura.tokens.find(token)) return undefined;
      return { buckets: BOTH_LAYERS, token };
    },

    problem(status, _request, uses) {
      const body = status === 404 ? { detail: DETAILS[404] } : problemBody(status, DETAILS[status]);
      return status === 429 ? { body, headers: rateHeaders(oura, uses) } : { body };
    },

    forbidden: () => ({ body: problemBody(403, "The user's Oura membership has expired") }),

    /** The name contains the grant and the version. So a fetch after a new connection or after a revision is no duplicate. */
    resource(request) {
      const { document_id: id = '' } = request.params as { document_id?: string };
      const document = oura.journal.sleep(id) ?? oura.journal.dailySleep(id);
      const grantId = oura.tokens.find(bearerOf(request) ?? '')?.grantId;
      return document && `${grantId} ${endpointOf(request)} ${id} v${document.version}`;
    },
  };
}

const DETAILS = {
  404: 'Document not found.',
  429: 'Request rate limit exceeded',
  500: 'Internal server error',
} as const;

function rateHeaders({ core, habits }: Oura, uses: readonly BucketUse[]): Record<string, string> {
  const full = [...uses].sort((a, b) => b.used / b.limit - a.used / a.limit)[0];
  if (!full) return {};
  const resetsInMs = full.window.resetsAtMs - core.clock.nowMs();
  return {
    'retry-after': String(Math.max(1, Math.ceil(resetsInMs / 1000))),
    'x-ratelimit-limit': String(full.limit),
    'x-ratelimit-window': String(full.seconds),
    'x-ratelimit-reset': String(Math.ceil(full.window.resetsAtMs / 1000)),
    'x-ratelimit-tier': full.name === 'token' ? habits.now.token_tier : habits.now.application_tier,
  };
}

function endpointOf(request: FastifyRequest): string {
  return request.routeOptions.config.endpoint ?? 'other';
}

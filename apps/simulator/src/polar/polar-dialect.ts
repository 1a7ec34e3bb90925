import { type FastifyRequest } from 'fastify';
import { basicCredentials, bearerOf, type BucketPlan, type BucketUse, type Dialect } from '../core/index.js';
import { MISSING_CONSENTS } from './access.js';
import { RATE_LIMITS } from './polar-facts.js';
import { problemBody } from './polar-problem.js';
import { type Polar } from './polar.js';

const ALIASES = {
  quarter_hour: ['read_15min', 'overall_15min'],
  day: ['read_day', 'overall_day'],
} as const;

/** Both limits are of the application and grow with its registered users. */
export function polarBuckets({ registrations }: Polar): BucketPlan[] {
  return RATE_LIMITS.map(({ name, seconds, base, perUser }) => ({
    name,
    aliases: ALIASES[name],
    seconds,
    limit: () => base + perUser * registrations.counts(),
    scope: 'app',
    begins: 'first_call',
  }));
}

const BOTH_WINDOWS = RATE_LIMITS.map(({ name }) => name);

/** Polar's limits, errors and names of resources. Every answer of the API carries the rate headers. */
export function polarDialect(polar: Polar): Dialect {
  return {
    vendor: 'polar',

    charge: (request) => (isCharged(polar, request) ? { buckets: BOTH_WINDOWS } : undefined),

    // The token endpoint is on another host.
    rateHeaders: (request, uses) =>
      endpointOf(request) === 'token' ? undefined : rateHeaders(uses, polar.core.clock.nowMs()),

    problem(status, _request, uses) {
      const nowMs = polar.core.clock.nowMs();
      const body = problemBody(status, MESSAGES[status], nowMs);
      const isTold = status === 429 && polar.habits.now.retry_after_on_429;
      return isTold ? { body, headers: { 'retry-after': String(secondsToReset(uses, nowMs)) } } : { body };
    },

    forbidden: () => ({ body: problemBody(403, MISSING_CONSENTS, polar.core.clock.nowMs()) }),

    resource: (request) => resourceOf(polar, request),
  };
}

const MESSAGES = { 404: 'Not found', 429: 'Too many requests', 500: 'Internal server error' } as const;

/** A call with a token or credentials that Polar does not know belongs to no application, so it costs nothing. */
function isCharged({ client, habits, tokens }: Polar, request: FastifyRequest): boolean {
  const endpoint = endpointOf(request);
  const isOfApp = endpoint === 'token' || endpoint === 'subscriptions';
  if (!isOfApp) return tokens.find(bearerOf(request) ?? '') !== undefined;
  const { token_calls_count, webhook_calls_count } = habits.now;
  if (!(endpoint === 'token' ? token_calls_count : webhook_calls_count)) return false;
  return client.knowsId(basicCredentials(request.headers.authorization)?.client_id);
}

/** `<short>, <long>` in each header; the reset in seconds. */
function rateHeaders(uses: readonly BucketUse[], nowMs: number): Record<string, string> {
  const pair = (valueOf: (use: BucketUse) => number) => uses.map(valueOf).join(', ');
  return {
    'ratelimit-usage': pair(({ used }) => used),
    'ratelimit-limit': pair(({ limit }) => limit),
    'ratelimit-reset': pair(({ window }) => secondsUntil(window.resetsAtMs, nowMs)),
  };
}

function secondsToReset(uses: readonly BucketUse[], nowMs: number): number {
  const full = uses.filter(({ used, limit }) => used >= limit);
  return Math.max(1, ...full.map(({ window }) => secondsUntil(window.resetsAtMs, nowMs)));
}

function secondsUntil(atMs: number, nowMs: number): number {
  return Math.max(0, Math.ceil((atMs - nowMs) / 1000));
}

/**
 * One session or night; a list is read again to look for news. The name contains grant, version and query, so that a
 * fetch after a new connection or an edit, or of other parts, is no duplicate.
 */
function resourceOf(polar: Polar, request: FastifyRequest): string | undefined {
  const { id, date } = request.params as { id?: string; date?: string };
  const info = polar.tokens.find(bearerOf(request) ?? '');
  if (!info) return undefined;
  const record = id === undefined ? polar.nightOn(info.athleteId, date ?? '') : polar.exercises.find(id);
  return record && `${info.grantId} ${request.url} v${record.version} ${record.id}`;
}

function endpointOf(request: FastifyRequest): string {
  return request.routeOptions.config.endpoint ?? 'other';
}

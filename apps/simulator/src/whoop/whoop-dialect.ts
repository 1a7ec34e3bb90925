import { type FastifyRequest } from 'fastify';
import { bearerOf, type BucketPlan, type BucketUse, type Dialect } from '../core/index.js';
import { RATE_LIMITS } from './whoop-facts.js';
import { NO_RESOURCE, RATE_LIMITED, SERVER_ERROR } from './whoop-problem.js';
import { type Whoop } from './whoop.js';

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  minute: ['read_15min', 'overall_15min'],
  day: ['read_day', 'overall_day'],
};

export const WHOOP_BUCKETS: readonly BucketPlan[] = RATE_LIMITS.map((plan) => ({
  ...plan,
  aliases: ALIASES[plan.name],
  scope: 'app',
}));

const BOTH_WINDOWS = WHOOP_BUCKETS.map(({ name }) => name);

/** WHOOP's limits, errors and names of resources. Every answer carries the rate headers, except answers of the token endpoint. */
export function whoopDialect(whoop: Whoop): Dialect {
  return {
    vendor: 'whoop',

    /** A token that WHOOP never issued belongs to no app, so the call is not charged. */
    charge: (request) => (whoop.tokens.find(bearerOf(request) ?? '') ? { buckets: BOTH_WINDOWS } : undefined),

    rateHeaders: (request, uses) =>
      request.routeOptions.config.endpoint === 'token'
        ? undefined
        : rateHeaders(uses, whoop.core.clock.nowMs()),

    problem: (status) => ({
      body: SENTENCES[status],
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    }),

    resource: (request) => resourceOf(whoop, request),
  };
}

const SENTENCES = { 404: NO_RESOURCE, 429: RATE_LIMITED, 500: SERVER_ERROR } as const;

/** The name contains the grant and the version. So a fetch after a new connection or a new score is no duplicate. */
function resourceOf({ journal, tokens }: Whoop, request: FastifyRequest): string | undefined {
  const { sleep_id: sleepId, cycle_id: cycleId } = request.params as { sleep_id?: string; cycle_id?: string };
  const sleep = sleepId === undefined ? journal.sleepOfCycle(Number(cycleId)) : journal.sleep(sleepId);
  const grantId = tokens.find(bearerOf(request) ?? '')?.grantId;
  return sleep && `${grantId} ${request.routeOptions.url} ${sleep.id} v${sleep.version}`;
}

/** Writes `100, 100;window=60, 10000;window=86400`: first the limit with the fewest remaining calls, then all limits. */
function rateHeaders(uses: readonly BucketUse[], nowMs: number): Record<string, string> {
  const nearest = [...uses].sort((a, b) => remaining(a) - remaining(b))[0]!;
  const all = uses.map(({ limit, seconds }) => `${limit};window=${seconds}`).join(', ');
  return {
    'x-ratelimit-limit': `${nearest.limit}, ${all}`,
    'x-ratelimit-remaining': String(remaining(nearest)),
    'x-ratelimit-reset': String(Math.max(0, Math.ceil((nearest.window.resetsAtMs - nowMs) / 1000))),
  };
}

function remaining({ limit, used }: BucketUse): number {
  return Math.max(0, limit - used);
}

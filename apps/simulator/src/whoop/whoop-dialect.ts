import { type FastifyRequest } from 'fastify';
import { type BucketPlan, type BucketUse, type Dialect } from '../core/index.js';
import { bearerOf } from '../wearables/bearer.js';
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

/** How WHOOP counts, refuses and names things. Every answer of the API carries the rate headers. */
export function whoopDialect(whoop: Whoop): Dialect {
  return {
    vendor: 'whoop',

    /** A token WHOOP never issued belongs to no app, so nobody is charged. */
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

/** Grant and version are part of the name: a reconnected user or a re-scored sleep is fetched anew rightly. */
function resourceOf({ journal, tokens }: Whoop, request: FastifyRequest): string | undefined {
  const { sleep_id: sleepId, cycle_id: cycleId } = request.params as { sleep_id?: string; cycle_id?: string };
  const sleep = sleepId === undefined ? journal.sleepOfCycle(Number(cycleId)) : journal.sleep(sleepId);
  const grantId = tokens.find(bearerOf(request) ?? '')?.grantId;
  return sleep && `${grantId} ${request.routeOptions.url} ${sleep.id} v${sleep.version}`;
}

/** `100, 100;window=60, 10000;window=86400`: the limit nearest to being hit, then all of them. */
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

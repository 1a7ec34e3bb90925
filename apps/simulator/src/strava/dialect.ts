import { type FastifyRequest } from 'fastify';
import { type BucketUse, type Dialect, pathOf } from '../core/index.js';
import { accessTokenOf } from './access.js';
import { type FaultBody, INACTIVE, notFound, RATE_LIMITED } from './strava-fault.js';
import { type Strava } from './strava.js';

const READ_AND_OVERALL = ['read_15min', 'read_day', 'overall_15min', 'overall_day'];
const OVERALL_ONLY = ['overall_15min', 'overall_day'];
const FREE_ENDPOINTS = new Set(['token', 'revoke', 'push_subscriptions']);
const WITHOUT_RATE_HEADERS = new Set(['token', 'revoke']);

/** Strava's limits, errors and names of resources. */
export function stravaDialect(strava: Strava): Dialect {
  return {
    vendor: 'strava',

    /** A call with a token that Strava has issued is charged, even if the token is no longer valid. Other calls cost nothing. */
    charge(request) {
      if (FREE_ENDPOINTS.has(endpointOf(request)) || !strava.tokens.find(accessTokenOf(request) ?? ''))
        return undefined;
      return { buckets: isUpload(request) ? OVERALL_ONLY : READ_AND_OVERALL };
    },

    rateHeaders: (request, uses) =>
      WITHOUT_RATE_HEADERS.has(endpointOf(request)) ? undefined : rateHeaders(uses),

    problem: (status) => ({ body: PROBLEMS[status] }),

    forbidden: () => ({ body: INACTIVE }),

    /** The name contains the grant and the revision. So a fetch after a new connection or after an edit is no duplicate. */
    resource(request) {
      const access = strava.tokens.find(accessTokenOf(request) ?? '');
      if (!access) return undefined;
      const { id } = request.params as { id?: string };
      const what = id === undefined ? request.url : pathOf(request);
      return `${access.grantId} ${strava.library.revisionOf(id ?? access.athleteId)} ${what}`;
    },
  };
}

const PROBLEMS: Record<404 | 429 | 500, FaultBody> = {
  404: notFound('Activity').body,
  429: RATE_LIMITED,
  500: { message: 'Internal Server Error', errors: [] },
};

/** Strava does not charge an upload to the read limits. */
function isUpload(request: FastifyRequest): boolean {
  return request.method === 'POST' && ['activities', 'other'].includes(endpointOf(request));
}

function endpointOf(request: FastifyRequest): string {
  return request.routeOptions.config.endpoint ?? 'other';
}

function rateHeaders(uses: readonly BucketUse[]): Record<string, string> {
  const [readShort, readDay, overallShort, overallDay] = uses as [BucketUse, BucketUse, BucketUse, BucketUse];
  return {
    'x-ratelimit-limit': `${overallShort.limit},${overallDay.limit}`,
    'x-ratelimit-usage': `${overallShort.used},${overallDay.used}`,
    'x-readratelimit-limit': `${readShort.limit},${readDay.limit}`,
    'x-readratelimit-usage': `${readShort.used},${readDay.used}`,
  };
}

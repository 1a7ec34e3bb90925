import { type FastifyInstance } from 'fastify';
import { authenticate, authenticateReader, isVisibleWith } from '../access.js';
import { athleteJson, detailedAthlete, summaryAthlete } from '../athlete-json.js';
import { type ListingQuery, listPage } from '../listing.js';
import { badRequest } from '../strava-fault.js';
import { DEFAULT_PAGE_SIZE, JSON_TYPE, LARGEST_PAGE_SIZE } from '../strava-facts.js';
import { type Strava } from '../strava.js';
import { wholeNumber } from './fields.js';

export function athleteRoutes(app: FastifyInstance, strava: Strava): void {
  app.get('/athlete', { config: { endpoint: 'athlete' } }, (request, reply) => {
    const { athleteId, scopes } = authenticate(strava.tokens, request);
    const show = scopes.includes('profile:read_all') ? detailedAthlete : summaryAthlete;
    const athlete = show(strava.profile(athleteId)!, strava.createdAtMs(athleteId));
    void reply.type(JSON_TYPE).send(athleteJson(athlete));
  });

  app.get('/athlete/activities', { config: { endpoint: 'activities' } }, (request, reply) => {
    const { athleteId, scopes } = authenticateReader(strava.tokens, request);
    const timeline = strava.library.newestFirst(athleteId);
    const listed = listPage(timeline, isVisibleWith(scopes), readListing(request.query));
    void reply.type(JSON_TYPE).send(strava.library.summariesJson(listed));
  });
}

function readListing(query: unknown): ListingQuery {
  const page = wholeNumber(query, 'page') ?? 1;
  const perPage = wholeNumber(query, 'per_page') ?? DEFAULT_PAGE_SIZE;
  if (page < 1) throw badRequest('Application', 'page');
  if (perPage < 1) throw badRequest('Application', 'per_page');
  return {
    before: wholeNumber(query, 'before'),
    after: wholeNumber(query, 'after'),
    page,
    perPage: Math.min(perPage, LARGEST_PAGE_SIZE),
  };
}

import { type FastifyInstance, type FastifyReply } from 'fastify';
import { consentPage, refusalPage, NEW_ATHLETE_ID } from '../../consent/consent-page.js';
import { StravaFault, TOO_MANY_ATHLETES } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { type ConsentRequest, readConsentRequest, redirectTo, splitScopes } from './consent-request.js';
import { type Fields, fieldsOf } from './credentials.js';

const ATHLETES_SHOWN = 50;
const NEW_ATHLETES_ACTIVITIES = 120;

/**
 * GET shows the consent page. With `athlete_id` GET consents for that athlete at once, to the scopes in `scope_granted`.
 * Without `scope_granted` it consents to all requested scopes. With `decision=deny` it declines. Strava answers wrong
 * parameters with a 400 and never with a redirect. So this flow differs from `wearables/authorize.routes.ts`.
 */
export function authorizeRoutes(app: FastifyInstance, strava: Strava, ...paths: string[]): void {
  for (const path of paths) {
    app.get(path, (request, reply) => {
      const fields = fieldsOf(request);
      const consent = readConsentRequest(strava.core.app('strava'), fields);
      if (fields['athlete_id'] !== undefined || fields['decision'] !== undefined) {
        return decide(strava, consent, fields, reply);
      }
      void reply.type('text/html; charset=utf-8').send(askPage(strava, consent));
    });
  }

  app.post(paths[0]!, (request, reply) => {
    const form = request.body as Record<string, string | string[]> | null;
    const ticked = [form?.['scope_granted'] ?? []].flat();
    const fields = { ...fieldsOf(request), scope_granted: ticked.join(',') };
    decide(strava, readConsentRequest(strava.core.app('strava'), fields), fields, reply);
  });
}

function decide(strava: Strava, consent: ConsentRequest, fields: Fields, reply: FastifyReply): void {
  if (fields['decision'] === 'deny') {
    return void reply.redirect(redirectTo(consent, { error: 'access_denied' }));
  }
  const granted = fields['scope_granted'];
  const scopes = granted === undefined ? consent.scopes : consent.scopes.filter(isIn(splitScopes(granted)));
  const athleteId = fields['athlete_id'] === NEW_ATHLETE_ID ? newAthlete(strava) : fields['athlete_id'];
  if (athleteId === undefined || !strava.profile(athleteId)) throw unknownAthlete(athleteId);
  if (strava.isFullFor(athleteId)) {
    const heading = `Error 403: ${TOO_MANY_ATHLETES.message}`;
    const page = refusalPage('Strava', heading, 'This app has exceeded the limit of connected athletes.');
    return void reply.code(403).type('text/html; charset=utf-8').send(page);
  }
  const code = strava.tokens.issueCode({ athleteId, scopes });
  void reply.redirect(redirectTo(consent, { code, scope: scopes.join(',') }));
}

function askPage({ core }: Strava, { clientId, redirectUri, scopes, state }: ConsentRequest): string {
  return consentPage({
    vendorName: 'Strava',
    appName: core.appName,
    action: '/oauth/authorize',
    scopes,
    hidden: { client_id: clientId, redirect_uri: redirectUri, scope: scopes.join(','), state },
    people: core.world.athletesOf('strava').slice(0, ATHLETES_SHOWN),
    redirectUri,
  });
}

function newAthlete(strava: Strava): string {
  return strava.addAthleteWithHistory({ count: NEW_ATHLETES_ACTIVITIES }).id;
}

function unknownAthlete(athleteId = ''): StravaFault {
  const errors = [{ resource: 'Athlete', field: 'athlete_id', code: `unknown ${athleteId}`.trim() }];
  return new StravaFault(400, { message: 'Bad Request', errors });
}

function isIn(list: readonly string[]): (item: string) => boolean {
  return (item) => list.includes(item);
}

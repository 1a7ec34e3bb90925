import { type FastifyInstance, type FastifyReply } from 'fastify';
import { StravaFault, TOO_MANY_ATHLETES } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { authorizePage, crowdedPage } from './authorize-page.js';
import { type ConsentRequest, readConsentRequest, redirectTo, splitScopes } from './consent-request.js';
import { type Fields, fieldsOf } from './credentials.js';

const ATHLETES_SHOWN = 50;
const NEW_ATHLETES_ACTIVITIES = 120;

/**
 * GET shows a person the page. With `athlete_id` it consents at once for that athlete, `scope_granted` being what they
 * left ticked (everything when absent), and with `decision=deny` it declines.
 */
export function authorizeRoutes(app: FastifyInstance, strava: Strava): void {
  for (const path of ['/authorize', '/mobile/authorize']) {
    app.get(path, (request, reply) => {
      const fields = fieldsOf(request);
      const consent = readConsentRequest(strava.core.app('strava'), fields);
      if (fields['athlete_id'] !== undefined || fields['decision'] !== undefined) {
        return decide(strava, consent, fields, reply);
      }
      const athletes = strava.core.world.athletesOf('strava').slice(0, ATHLETES_SHOWN);
      void reply.type('text/html; charset=utf-8').send(authorizePage(consent, athletes));
    });
  }

  app.post('/authorize', (request, reply) => {
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
  const athleteId = fields['athlete_id'] === 'new' ? newAthlete(strava) : fields['athlete_id'];
  if (athleteId === undefined || !strava.profile(athleteId)) throw unknownAthlete(athleteId);
  if (strava.isFullFor(athleteId)) {
    return void reply.code(403).type('text/html; charset=utf-8').send(crowdedPage(TOO_MANY_ATHLETES.message));
  }
  const code = strava.tokens.issueCode({ athleteId, scopes });
  void reply.redirect(redirectTo(consent, { code, scope: scopes.join(',') }));
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

import { type FastifyInstance } from 'fastify';
import { requireAccess } from './access.js';
import { type Whoop } from './whoop.js';

export function userRoutes(app: FastifyInstance, whoop: Whoop): void {
  app.get('/v2/user/profile/basic', { config: { endpoint: 'profile' } }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:profile');
    const { firstname, lastname } = whoop.sleepers.find(athleteId)!;
    return {
      user_id: Number(athleteId),
      email: `${firstname}.${lastname}@example.com`.toLowerCase(),
      first_name: firstname,
      last_name: lastname,
    };
  });

  /** The app gives the user back: every grant ends, and with them the events. */
  app.delete('/v2/user/access', { config: { endpoint: 'revoke' } }, (request, reply) => {
    whoop.tokens.revokeAthlete(requireAccess(whoop, request).athleteId);
    return reply.code(204).send();
  });
}

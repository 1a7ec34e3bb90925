import { type FastifyInstance } from 'fastify';
import { requireAccess } from './whoop-problem.js';
import { type Whoop } from './whoop.js';

export function userRoutes(app: FastifyInstance, whoop: Whoop): void {
  app.get('/v2/user/profile/basic', { config: { endpoint: 'profile' } }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:profile');
    const { firstname, lastname } = whoop.athletes.find(athleteId)!;
    return {
      user_id: Number(athleteId),
      email: `${firstname}.${lastname}@example.com`.toLowerCase(),
      first_name: firstname,
      last_name: lastname,
    };
  });

  app.get('/v2/user/measurement/body', { config: { endpoint: 'body_measurement' } }, (request) => {
    const { athleteId } = requireAccess(whoop, request, 'read:body_measurement');
    const athlete = whoop.athletes.find(athleteId)!;
    const { weightKg, maxHeartRate } = whoop.athletes.profileOf(athlete);
    return {
      height_meter: (155 + (athlete.seed % 40)) / 100,
      weight_kilogram: weightKg,
      max_heart_rate: maxHeartRate,
    };
  });

  /** Ends all grants of the user. WHOOP then sends no more events for this user. */
  app.delete('/v2/user/access', { config: { endpoint: 'revoke' } }, (request, reply) => {
    whoop.tokens.revokeAthlete(requireAccess(whoop, request).athleteId);
    return reply.code(204).send();
  });
}

import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { unknownId } from '../control/control-error.js';
import { requireToken } from './access.js';
import { PolarProblem } from './polar-problem.js';
import { type Polar } from './polar.js';
import { type Registration } from './registrations.js';

type WithId = FastifyRequest<{ Params: { id: string } }>;

const Consents = z.object({ consents: z.enum(['given', 'missing']) });

export function userRoutes(app: FastifyInstance, polar: Polar): void {
  const config = { endpoint: 'users' };
  const { habits, registrations } = polar;

  app.post('/v3/users', { config }, (request) => {
    const { athleteId } = requireToken(polar, request);
    const memberId = (request.body as Record<string, unknown> | null | undefined)?.['member-id'];
    const { longest_member_id } = habits.now;
    if (typeof memberId !== 'string' || memberId === '' || memberId.length > longest_member_id)
      throw new PolarProblem(400, `member-id must be a text of 1 to ${longest_member_id} characters`);
    if (registrations.of(athleteId) ?? registrations.ofMember(memberId))
      throw new PolarProblem(409, 'The user is already registered, or the member-id is in use');
    return userDocument(polar, registrations.add(athleteId, memberId));
  });

  app.get('/v3/users/:id', { config }, (request: WithId, reply) => {
    const user = registrations.of(ownId(polar, request));
    return user ? reply.send(userDocument(polar, user)) : reply.code(204).send();
  });

  /** Ends the registration and every token of the user. */
  app.delete('/v3/users/:id', { config }, (request: WithId, reply) => {
    const athleteId = ownId(polar, request);
    if (!registrations.remove(athleteId))
      throw new PolarProblem(habits.now.unknown_user_delete_status, 'The user is not registered');
    polar.tokens.revokeAthlete(athleteId);
    return reply.code(204).send();
  });
}

/** `PUT /polar/__sim/users/{id} {"consents": "given" | "missing"}` */
export function userControls(sim: FastifyInstance, { athletes, registrations }: Polar): void {
  sim.put('/users/:id', ({ params: { id }, body }: WithId) => {
    const { consents } = Consents.parse(body ?? {});
    if (!athletes.find(id)) throw unknownId('id', id);
    registrations.setConsents(id, consents === 'given');
    return { id, consents };
  });
}

/** A path such as `/v3/users/physical-info`, which is not offered here, is 404 even without a token. */
function ownId(polar: Polar, request: WithId): string {
  const { id } = request.params;
  if (!/^\d+$/.test(id)) throw new PolarProblem(404, 'Not found');
  const { athleteId } = requireToken(polar, request);
  if (athleteId !== id) throw new PolarProblem(403, 'The token belongs to another user');
  return id;
}

function userDocument(polar: Polar, { athleteId, memberId, atMs }: Registration) {
  const athlete = polar.athletes.find(athleteId)!;
  const { sex, weightKg } = athlete.profile;
  return {
    'polar-user-id': Number(athleteId),
    'member-id': memberId,
    'registration-date': new Date(atMs).toISOString(),
    'first-name': athlete.firstname,
    'last-name': athlete.lastname,
    birthdate: `${1970 + (athlete.seed % 30)}-0${1 + (athlete.seed % 9)}-15`,
    gender: sex === 'F' ? 'FEMALE' : 'MALE',
    weight: weightKg,
    height: 155 + (athlete.seed % 40),
    'extra-info': [],
  };
}

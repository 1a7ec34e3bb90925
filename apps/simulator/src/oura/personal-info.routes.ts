import { type FastifyInstance } from 'fastify';
import { requireAccess } from './access.js';
import { type Oura } from './oura.js';

/** The id is for every token, for events name people by it; what the person did not share is null. */
export function personalInfoRoutes(app: FastifyInstance, oura: Oura): void {
  app.get('/v2/usercollection/personal_info', { config: { endpoint: 'personal_info' } }, (request) => {
    const { athleteId, scopes } = requireAccess(oura, request);
    const athlete = oura.sleepers.find(athleteId)!;
    const { weightKg, sex } = oura.sleepers.profileOf(athlete);
    const email = `${athlete.firstname}.${athlete.lastname}@example.com`.toLowerCase();
    const isShared = scopes.includes('personal');
    return {
      id: athleteId,
      age: isShared ? 25 + (athlete.seed % 35) : null,
      weight: isShared ? weightKg : null,
      height: isShared ? (155 + (athlete.seed % 40)) / 100 : null,
      biological_sex: isShared ? (sex === 'F' ? 'female' : 'male') : null,
      email: scopes.includes('email') ? email : null,
    };
  });
}

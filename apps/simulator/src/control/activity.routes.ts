import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Core } from '../core/index.js';
import { controlsOf } from './athlete.routes.js';
import { unknownId } from './control-error.js';
import { Id } from './fields.js';

type WithId = FastifyRequest<{ Params: { id: string } }>;

const OfAthlete = z.object({ athlete_id: Id });

/** Activities happen at Strava only. */
export function activityControls(app: FastifyInstance, core: Core): void {
  const strava = () => controlsOf(core, 'strava');

  app.post('/activities', (request) => {
    const { athlete_id } = OfAthlete.parse(request.body ?? {});
    return strava().createActivity!(athlete_id, request.body) ?? never(unknownId('athlete_id', athlete_id));
  });

  app.get('/activities/:id', ({ params: { id } }: WithId) => {
    return strava().activityTruth!(id) ?? never(unknownId('id', id));
  });

  app.patch('/activities/:id', ({ params: { id }, body }: WithId) => {
    return strava().updateActivity!(id, body) ?? never(unknownId('id', id));
  });

  app.delete('/activities/:id', ({ params: { id } }: WithId) => {
    if (!strava().deleteActivity!(id)) throw unknownId('id', id);
    return { id, deleted: true };
  });
}

function never(error: Error): never {
  throw error;
}

import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ControlAnswer, type Core, Id, type VendorControls } from '../core/index.js';
import { invalid, unknownId } from './control-error.js';

type WithId = FastifyRequest<{ Params: { id: string } }>;

/** Control routes of activities. An activity's id does not contain the vendor, so the routes try each vendor that has activities. */
export function activityControls(app: FastifyInstance, core: Core): void {
  const provider = z.enum(core.controls.with('createActivity')).optional();
  const OfAthlete = z.object({ athlete_id: Id, provider });

  app.post('/activities', (request) => {
    const { athlete_id, provider } = OfAthlete.parse(request.body ?? {});
    for (const [vendor, controls] of core.controls.all()) {
      if (provider !== undefined && provider !== vendor) continue;
      const made = controls.createActivity?.(athlete_id, request.body);
      if (made) return made;
    }
    const elsewhere = core.world.findAthlete(athlete_id)?.vendor;
    if (elsewhere === undefined) throw unknownId('athlete_id', athlete_id);
    throw invalid(`athlete_id: ${athlete_id} is at ${elsewhere}, not at a vendor with activities`);
  });

  app.get('/activities/:id', ({ params: { id } }: WithId): ControlAnswer => {
    return firstOf(core, id, (controls) => controls.activityTruth?.(id));
  });

  app.patch('/activities/:id', ({ params: { id }, body }: WithId): ControlAnswer => {
    return firstOf(core, id, (controls) => controls.updateActivity?.(id, body));
  });

  app.delete('/activities/:id', ({ params: { id } }: WithId) => {
    firstOf(core, id, (controls) => controls.deleteActivity?.(id) === true);
    return { id, deleted: true };
  });
}

function firstOf<Result extends object | true>(
  core: Core,
  id: string,
  ask: (controls: VendorControls) => Result | false | undefined,
): Result {
  for (const [, controls] of core.controls.all()) {
    const answer = ask(controls);
    if (answer) return answer;
  }
  throw unknownId('id', id);
}

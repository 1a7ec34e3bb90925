import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ControlAnswer, type Core, type VendorControls } from '../core/index.js';
import { unknownId } from './control-error.js';
import { Id } from './fields.js';

type WithId = FastifyRequest<{ Params: { id: string } }>;

const OfAthlete = z.object({ athlete_id: Id });

/** A record's id does not say whose it is: every vendor that keeps sleep is asked. */
export function sleepControls(app: FastifyInstance, core: Core): void {
  app.post('/sleep', (request) => {
    const { athlete_id } = OfAthlete.parse(request.body ?? {});
    const athlete = core.world.findAthlete(athlete_id);
    const made = athlete && core.controls.of(athlete.vendor)?.createSleep?.(athlete_id, request.body);
    if (!made) throw unknownId('athlete_id', athlete_id);
    return made;
  });

  app.patch('/sleep/:id', ({ params: { id }, body }: WithId): ControlAnswer => {
    const changed = firstOf(core, (controls) => controls.updateSleep?.(id, body));
    if (!changed) throw unknownId('id', id);
    return changed;
  });

  app.delete('/sleep/:id', ({ params: { id } }: WithId) => {
    if (!firstOf(core, (controls) => controls.deleteSleep?.(id))) throw unknownId('id', id);
    return { id, deleted: true };
  });
}

function firstOf<Result>(
  core: Core,
  ask: (controls: VendorControls) => Result | undefined,
): Result | undefined {
  for (const [, controls] of core.controls.all()) {
    const answer = ask(controls);
    if (answer) return answer;
  }
  return undefined;
}

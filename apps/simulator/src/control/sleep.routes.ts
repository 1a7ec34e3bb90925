import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ControlAnswer, type Core, Id, type Vendor, type VendorControls } from '../core/index.js';
import { invalid, unknownId } from './control-error.js';

type WithId = FastifyRequest<{ Params: { id: string } }>;

/** Control routes of sleep. A night's id does not name the vendor, so the routes try each vendor that has sleep. */
export function sleepControls(app: FastifyInstance, core: Core): void {
  const provider = z.enum(core.controls.with('createSleep')).optional();
  const OfAthlete = z.object({ athlete_id: Id, provider });

  app.post('/sleep', (request) => {
    const { athlete_id, provider } = OfAthlete.parse(request.body ?? {});
    const made = firstOf(core, (controls, vendor) =>
      provider === undefined || provider === vendor
        ? controls.createSleep?.(athlete_id, request.body)
        : undefined,
    );
    if (made) return made;
    const elsewhere = core.world.findAthlete(athlete_id)?.vendor;
    if (elsewhere === undefined) throw unknownId('athlete_id', athlete_id);
    throw invalid(`athlete_id: ${athlete_id} is at ${elsewhere}, which has no sleep`);
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
  ask: (controls: VendorControls, vendor: Vendor) => Result | undefined,
): Result | undefined {
  for (const [vendor, controls] of core.controls.all()) {
    const answer = ask(controls, vendor);
    if (answer) return answer;
  }
  return undefined;
}

import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ControlAnswer, type Core, type Vendor, type VendorControls } from '../core/index.js';
import { invalid, unknownId } from './control-error.js';
import { Id } from './fields.js';

type WithId = FastifyRequest<{ Params: { id: string } }>;

const OfAthlete = z.object({ athlete_id: Id, provider: z.enum(['oura', 'whoop']).optional() });

/** A record's id does not say whose it is: every vendor that keeps sleep is asked. */
export function sleepControls(app: FastifyInstance, core: Core): void {
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
    throw invalid(`athlete_id: ${athlete_id} is at ${elsewhere}, where nobody sleeps`);
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

import { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Core, Digits, type Vendor } from '../core/index.js';
import { invalid, unknownId } from './control-error.js';
import { Id } from './fields.js';

const MOST_RECORDS = 100_000;

const NewAthlete = z.object({
  provider: z.enum(['strava', 'oura', 'whoop']),
  /** Activities for Strava, nights for the others. */
  activities: z.int().min(0).max(MOST_RECORDS).optional(),
  nights: z.int().min(0).max(MOST_RECORDS).optional(),
  manual_share: z.number().min(0).max(1).default(0.03),
  seed: z.int().min(0).max(0xffff_ffff).optional(),
  /** Ids of a size of one's own, beyond 32 bit or beyond 2^53. */
  athlete_id: Digits.optional(),
  first_activity_id: Digits.optional(),
  scopes: z.array(z.string()).optional(),
});

const Deauthorize = z.object({ athlete_id: Id, provider: z.enum(['strava', 'oura', 'whoop']).optional() });

const DEFAULT_RECORDS = 30;

export function athleteControls(app: FastifyInstance, core: Core): void {
  app.post('/athletes', (request) => {
    const { provider, activities, nights, manual_share, seed, athlete_id, first_activity_id, scopes } =
      NewAthlete.parse(request.body ?? {});
    if (athlete_id && core.world.athlete(provider, athlete_id))
      throw invalid(`athlete_id: ${athlete_id} exists`);
    const controls = controlsOf(core, provider);
    const strange = scopes?.find((scope) => !controls.scopes.includes(scope));
    if (strange !== undefined)
      throw invalid(`scopes: unknown ${strange}, expected some of ${controls.scopes.join(', ')}`);
    const { id, code } = controls.createAthlete({
      count: (provider === 'strava' ? activities : (nights ?? activities)) ?? DEFAULT_RECORDS,
      manualShare: manual_share,
      seed,
      athleteId: athlete_id,
      firstActivityId: first_activity_id,
      scopes,
    });
    return { id, provider, code };
  });

  app.post('/deauthorize', (request) => {
    const { athlete_id, provider } = Deauthorize.parse(request.body ?? {});
    const vendor = provider ?? core.world.findAthlete(athlete_id)?.vendor;
    if (!vendor || !controlsOf(core, vendor).deauthorize(athlete_id))
      throw unknownId('athlete_id', athlete_id);
    return { athlete_id, provider: vendor, authorized: false };
  });
}

export function controlsOf(core: Core, vendor: Vendor) {
  const controls = core.controls.of(vendor);
  if (!controls) throw invalid(`provider: ${vendor} has no athletes here`);
  return controls;
}

import { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type Core, Digits, Id, type Vendor, VENDORS_WITH_ATHLETES } from '../core/index.js';
import { invalid, unknownId } from './control-error.js';
import { Moment } from './workout-order.js';

const MOST_RECORDS = 100_000;

const NewAthlete = z.object({
  provider: z.enum(VENDORS_WITH_ATHLETES),
  /** Activities; for a vendor without activities, nights. */
  activities: z.int().min(0).max(MOST_RECORDS).optional(),
  nights: z.int().min(0).max(MOST_RECORDS).optional(),
  manual_share: z.number().min(0).max(1).default(0.03),
  /** A share of all activities is "Only you", spread evenly. The `private_newest` newest are "Only you" as well. */
  private_share: z.number().min(0).max(1).default(0),
  private_newest: z.int().min(0).max(MOST_RECORDS).default(0),
  seed: z.int().min(0).max(0xffff_ffff).optional(),
  /** Ids may exceed 32 bit and 2^53. */
  athlete_id: Digits.optional(),
  first_activity_id: Digits.optional(),
  /** The newest activity of the history ends before this moment. By default the history ends at 00:00 UTC of today. */
  history_until: Moment.optional(),
  scopes: z.array(z.string()).optional(),
});

const OneAthlete = z.object({ athlete_id: Id, provider: z.enum(VENDORS_WITH_ATHLETES).optional() });

const WithId = z.object({ id: Id, provider: z.enum(VENDORS_WITH_ATHLETES) });

const DEFAULT_RECORDS = 30;

export function athleteControls(app: FastifyInstance, core: Core): void {
  app.post('/athletes', (request) => {
    const order = NewAthlete.parse(request.body ?? {});
    const { provider, activities, nights, athlete_id, scopes } = order;
    if (athlete_id && core.world.athlete(provider, athlete_id))
      throw invalid(`athlete_id: ${athlete_id} exists`);
    const controls = controlsOf(core, provider);
    const strange = scopes?.find((scope) => !controls.scopes.includes(scope));
    if (strange !== undefined)
      throw invalid(`scopes: unknown ${strange}, expected some of ${controls.scopes.join(', ')}`);
    const { id, code } = controls.createAthlete({
      count: (controls.createActivity ? activities : (nights ?? activities)) ?? DEFAULT_RECORDS,
      nights: nights ?? DEFAULT_RECORDS,
      manualShare: order.manual_share,
      privateShare: order.private_share,
      privateNewest: order.private_newest,
      seed: order.seed,
      athleteId: athlete_id,
      firstActivityId: order.first_activity_id,
      endsAtMs: order.history_until,
      scopes,
    });
    return { id, provider, code };
  });

  app.get('/athletes/:provider/:id', ({ params }) => {
    const { provider, id } = WithId.parse(params);
    const controls = controlsOf(core, provider);
    const records = controls.recordsOf(id);
    if (!records) throw unknownId('id', id);
    return { id, provider, ...controls.describe(id), ...records };
  });

  app.post('/deauthorize', (request) => {
    const { athlete_id, provider } = OneAthlete.parse(request.body ?? {});
    const vendor = provider ?? core.world.findAthlete(athlete_id)?.vendor;
    if (!vendor || !controlsOf(core, vendor).deauthorize(athlete_id))
      throw unknownId('athlete_id', athlete_id);
    return { athlete_id, provider: vendor, authorized: false };
  });

  app.post('/expire', (request) => {
    const { athlete_id, provider } = OneAthlete.parse(request.body ?? {});
    const vendor = provider ?? core.world.findAthlete(athlete_id)?.vendor;
    if (!vendor || !controlsOf(core, vendor).expireTokens(athlete_id))
      throw unknownId('athlete_id', athlete_id);
    return { athlete_id, provider: vendor, expired: true };
  });
}

function controlsOf(core: Core, vendor: Vendor) {
  const controls = core.controls.of(vendor);
  if (!controls) throw invalid(`provider: ${vendor} has no athletes here`);
  return controls;
}

import { type FastifyInstance } from 'fastify';
import { type Core, VENDORS } from '../core/index.js';
import { activityControls } from './activity.routes.js';
import { athleteControls } from './athlete.routes.js';
import { answerControlErrors } from './control-error.js';
import { faultControls } from './fault.routes.js';
import { sleepControls } from './sleep.routes.js';

/** The control routes under `/__sim`. They have no counts, no limits and no faults. */
export function mountControls(app: FastifyInstance, core: Core): void {
  void app.register(
    (sim, _options, done) => {
      answerControlErrors(sim);
      athleteControls(sim, core);
      activityControls(sim, core);
      sleepControls(sim, core);
      faultControls(sim, core);
      viewControls(sim, core);
      done();
    },
    { prefix: '/__sim' },
  );
}

const ATHLETES_SHOWN = 200;

function viewControls(app: FastifyInstance, core: Core): void {
  app.get('/stats', () => core.judge.stats());

  /** All data of the page in one answer. */
  app.get('/overview', () => ({
    now: new Date(core.clock.nowMs()).toISOString(),
    time_scale: core.clock.scale,
    stats: withoutHistory(core),
    buckets: buckets(core),
    athletes: athletes(core),
    faults: core.faults.list(),
    requests: core.judge.recentRequests(),
  }));

  app.post('/reset', () => {
    core.reset();
    return { reset: true };
  });
}

/** Statistics without the lists of past windows, which the page does not show. */
function withoutHistory(core: Core) {
  const stats = Object.entries(core.judge.stats());
  return Object.fromEntries(
    stats.map(([vendor, { windows: _windows, days: _days, ...counts }]) => [vendor, counts]),
  );
}

function buckets(core: Core) {
  return Object.fromEntries(
    VENDORS.map((vendor) => [
      vendor,
      core.limits.usage(vendor).map(({ name, used, limit, window }) => ({
        name,
        used,
        limit,
        resets_at: new Date(window.resetsAtMs).toISOString(),
      })),
    ]),
  );
}

function athletes(core: Core) {
  return core.controls
    .all()
    .flatMap(([vendor, controls]) =>
      core.world.athletesOf(vendor).map(({ id, firstname, lastname }) => ({
        id,
        provider: vendor,
        name: `${firstname} ${lastname}`,
        ...controls.describe(id),
      })),
    )
    .slice(-ATHLETES_SHOWN)
    .reverse();
}

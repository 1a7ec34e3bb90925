import { type FastifyInstance } from 'fastify';
import { type Core, VENDORS } from '../core/index.js';

const ATHLETES_SHOWN = 200;

export function viewControls(app: FastifyInstance, core: Core): void {
  app.get('/stats', () => core.judge.stats());

  /** Everything the page shows, in one answer. */
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

/** The page draws counters, not the list of all windows ever. */
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

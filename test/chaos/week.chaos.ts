import { Disasters } from './week/disasters.js';
import { clusteredEngines, singleEngines } from './week/engines.js';
import { report } from './week/report.js';
import { liveWeek, type WeekOptions } from './week/week.js';

// npm run chaos week: a week of CHAOS_ATHLETES athletes at all vendors in CHAOS_MINUTES, with kills every few seconds, restarts and freezes of
// every server, vendor outages, wrong clocks and operators. CHAOS_SEED decides who does what and what breaks. CHAOS_ENGINES=clusters runs it on
// a Redis Cluster, a NATS cluster and a Postgres with a synchronous standby.
const DAYS = 7;
const minutes = Number(process.env.CHAOS_MINUTES ?? 12);
const options: WeekOptions = {
  seed: Number(process.env.CHAOS_SEED ?? 1),
  athletes: Number(process.env.CHAOS_ATHLETES ?? 50),
  days: DAYS,
  dayMs: (minutes * 60_000) / DAYS,
  deletedAthletes: 2,
  // The whole history of an athlete is compared once a week, on a machine that may have other work.
  settlesWithinMs: Math.max(15, 2 * minutes) * 60_000,
};

const isClustered = process.env.CHAOS_ENGINES === 'clusters';
const engines = await (isClustered ? clusteredEngines() : singleEngines());
const result = await liveWeek(
  options,
  engines,
  (stack, random, progress) => new Disasters(stack, random, progress),
);
process.exitCode = report(isClustered ? 'week-on-clusters' : 'week', options, result);

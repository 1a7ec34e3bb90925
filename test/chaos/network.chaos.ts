import { NetworkTrouble } from './week/network-trouble.js';
import { proxiedEngines } from './week/engines.js';
import { report } from './week/report.js';
import { liveWeek, type WeekOptions } from './week/week.js';

// npm run chaos network: every link between the product and Postgres, Redis and NATS is delayed, slow, mute in one direction, half-open and
// cut, one after the other, while athletes live. Prints the stalls and the longest answer of the api per fault, and compares at the end.
const DAY_MS = 96_000;
const options: WeekOptions = {
  seed: Number(process.env.CHAOS_SEED ?? 1),
  athletes: Number(process.env.CHAOS_ATHLETES ?? 10),
  days: NetworkTrouble.LONGEST_MS / DAY_MS,
  dayMs: DAY_MS,
  deletedAthletes: 1,
  settlesWithinMs: 8 * DAY_MS,
};

const { engines, proxies } = await proxiedEngines();
const result = await liveWeek(
  options,
  engines,
  (stack, _, progress) => new NetworkTrouble(stack, proxies, progress),
);
process.exitCode = report('network', options, result);

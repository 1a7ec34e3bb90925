import { randomUUID } from 'node:crypto';
import { migrateUp } from '#platform';
import { eventually } from '../test/harness/eventually.js';
import { type ImportBody, World } from '../test/harness/world.js';
import { processorSeconds, report } from './harness.js';

// The cost of an athlete: calls to the vendor, bytes in Postgres and processor time for an activity with its streams, and for a night.
// docs/scaling.md has the arithmetic. The vendors' limits are raised, so that nothing waits, and all rows are new.
const ATHLETES = 3;
const ACTIVITIES = 200;
const NIGHTS = 90;
const DEADLINE_MS = 300_000;
// The simulator allows as many calls as a product with very large limits would have.
const LIMITS = { read_15min: 50_000, read_day: 500_000, overall_15min: 100_000, overall_day: 1_000_000 };

const databaseUrl = process.env.DATABASE_URL ?? '';
await migrateUp(databaseUrl);
const world = await World.start({ workers: 1, databaseUrl });
await world.control('POST', 'limits', { vendor: 'strava', ...LIMITS });

const activities = await costOf('strava', ATHLETES * ACTIVITIES, async () => {
  for (let n = 0; n < ATHLETES; n += 1) {
    const athlete = randomUUID();
    await world.connect(athlete, await world.vendorAthlete(ACTIVITIES));
    const { body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
    await world.importUntil(athlete, body.id, ({ status }) => status === 'completed', DEADLINE_MS);
  }
  const unfinished = `
    select 1 from activity where stream_fetch_status not in ('success', 'unavailable') or detail_status <> 'stored'
    union all select 1 from jobs where status not in ('succeeded', 'failed', 'cancelled')
    union all select 1 from change_outbox`;
  await until('all streams and runs', async () => (await count(unfinished)) === 0);
});
const nights = await costOf('oura', ATHLETES * NIGHTS, async () => {
  for (let n = 0; n < ATHLETES; n += 1) {
    const made = { provider: 'oura', activities: 1, nights: NIGHTS };
    const { id } = await world.control<{ id: string }>('POST', 'athletes', made);
    await world.connect(randomUUID(), id, 'oura');
  }
  // The vendor may have naps, and nights that have no score yet.
  await until(
    'most nights',
    async () => (await count('select 1 from sleep_data')) >= 0.8 * ATHLETES * NIGHTS,
  );
});
const points = await world.rows<{ points: number }>(
  'select avg(point_count)::int as points from activity_stream',
);
await world.stop();

await report({
  name: 'athlete',
  findings: [
    ...found('an activity with its streams', activities),
    ...found('a night', nights),
    told('points of a recording, on average', `${points[0]?.points}`),
  ],
  raw: { activities, nights, points },
});

interface Cost {
  readonly calls: number;
  readonly bytes: Readonly<Record<string, number>>;
  readonly workerMs: number;
}

/** The cost of one item, from the cost of work that makes `items` of them. */
async function costOf(vendor: string, items: number, work: () => Promise<void>): Promise<Cost> {
  const pid = world.workers[0]?.pid ?? 0;
  const before = { calls: await calls(vendor), bytes: await sizes(), seconds: processorSeconds(pid) };
  await work();
  const seconds = processorSeconds(pid) - before.seconds;
  const grown = Object.entries(await sizes()).map(
    ([table, bytes]) => [table, Math.round((bytes - (before.bytes[table] ?? 0)) / items)] as const,
  );
  return {
    calls: ((await calls(vendor)) - before.calls) / items,
    bytes: Object.fromEntries(grown.filter(([, bytes]) => bytes > 0)),
    workerMs: (seconds * 1_000) / items,
  };
}

async function calls(vendor: string): Promise<number> {
  return (await world.vendorStats(vendor)).total;
}

/** Tables with their indexes and large values, without the room of deleted rows. */
async function sizes(): Promise<Record<string, number>> {
  await world.rows('vacuum full');
  const rows = await world.rows<{ name: string; bytes: string }>(
    `select relname as name, pg_total_relation_size(oid) as bytes
     from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

function found(what: string, { calls: made, bytes, workerMs }: Cost) {
  const total = Object.values(bytes).reduce((sum, each) => sum + each, 0);
  const largest = Object.entries(bytes).sort(([, one], [, other]) => other - one);
  return [
    told(`${what}: calls`, made.toFixed(2)),
    told(
      `${what}: bytes in Postgres`,
      `${total} (${largest
        .slice(0, 4)
        .map(([table, each]) => `${table} ${each}`)
        .join(', ')})`,
    ),
    told(`${what}: processor time of the worker`, `${workerMs.toFixed(1)} ms`),
  ];
}

function told(what: string, measured: string) {
  return { what, measured, goal: '', met: true };
}

async function count(statement: string): Promise<number> {
  return (await world.rows(statement)).length;
}

function until(what: string, isSo: () => Promise<boolean>): Promise<unknown> {
  return eventually(what, isSo, DEADLINE_MS);
}

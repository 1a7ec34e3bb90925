import { randomUUID } from 'node:crypto';
import { loadavg } from 'node:os';
import { Worker } from 'node:worker_threads';
import { migrateUp } from '#platform';
import { tokenFor } from '../test/harness/environment.js';
import { copyActivity, HOUR, storeActivities } from '../test/harness/recordings.js';
import { openPool } from '../test/harness/test-database.js';
import { World } from '../test/harness/world.js';
import { Load } from './fairness-load.js';
import { type Probe, type Probed } from './fairness-prober.js';
import { report, residentMegabytes, startChild } from './harness.js';
import { recordings } from './stream-sample.js';

// Measures the latency of uninvolved athletes, first without load and then while other athletes request as much as they can.
const CALM_SECONDS = 15;
// The load lasts longer than the time after which the api cuts off a stalled reader.
const LOADED_SECONDS = 45;
const PROBES_A_SECOND = 50;
const BYSTANDERS = 10;
const STALLED = 60;
const LONG_HOURS = 22;
const PRIVATE_ACTIVITIES = 10_000;
const EVENTS_A_SECOND = 300;
const CUTS_AT_ONCE = 10;
// The streams of each activity are 1.3 MB, which is more than the socket buffers hold.
const LONG_ACTIVITIES = 8;
const MOST_MS = 50;
const MOST_TIMES = 3;

const databaseUrl = process.env.DATABASE_URL ?? '';
await migrateUp(databaseUrl);
const world = await World.start({
  databaseUrl,
  timeScale: 1,
  env: { NODE_OPTIONS: '--max-semi-space-size=8' },
});
const { url, pid } = world.api;
// A server without load in a process of its own. Any delay of this server comes from the machine.
const bare = await startChild('dist/bench/bare-fastify.js');

/** A new athlete. Its first call, made here, has created its row. */
async function newAthlete(): Promise<{ id: string; token: string }> {
  const token = await tokenFor(randomUUID());
  const answer = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  const { athlete_id: id } = (await answer.json()) as { athlete_id: string };
  return { id, token };
}
const newAthletes = async (count: number) => {
  const made: Awaited<ReturnType<typeof newAthlete>>[] = [];
  for (let n = 0; n < count; n += 1) made.push(await newAthlete());
  return made;
};

const [rider, hermit] = (await newAthletes(2)) as [
  { id: string; token: string },
  { id: string; token: string },
];
const bystanders = await newAthletes(BYSTANDERS);
const stalled = await newAthletes(STALLED);
const [channels = {}] = recordings(1, LONG_HOURS * HOUR);
const recording = { channels, pointCount: LONG_HOURS * HOUR };
const [long = ''] = await storeActivities(databaseUrl, rider.id, [recording]);
for (const { id } of stalled)
  await copyActivity(databaseUrl, long, { athleteId: id, count: LONG_ACTIVITIES });
await storePrivate(hermit.id);
const attacker = await world.vendorAthlete(3);
await world.connect(randomUUID(), attacker);

// Without this, Postgres would write the stored rows to disk during the measurement.
await world.rows('checkpoint');

const calmBefore = await probe(CALM_SECONDS);
await lagMs();
const load = begin();
const peak = watchMemory();
const [loaded, idle] = await Promise.all([probe(LOADED_SECONDS), probe(LOADED_SECONDS, bare.url)]);
const megabytes = peak();
const lag = await lagMs();
await load.stop();
const calmAfter = await probe(CALM_SECONDS);
await Promise.all([world.stop(), bare.stop()]);

const calm = { milliseconds: [...calmBefore.milliseconds, ...calmAfter.milliseconds] };
const [p99, usual] = [percentile(loaded, 0.99), percentile(calm, 0.99)];
const ofOthers = Object.entries(load.seen).map(([what, count]) => `${what} ${count}`);
await report({
  name: 'fairness',
  findings: [
    {
      what: "p99 of another athlete's GET /v1/me",
      measured: `${p99.toFixed(1)} ms (without the others ${usual.toFixed(1)} ms)`,
      goal: `≤ ${MOST_MS} ms or ≤ ${MOST_TIMES}×`,
      met: p99 <= MOST_MS || p99 <= MOST_TIMES * usual,
    },
    {
      what: 'p99 of a bare Fastify beside it, which nobody else asks',
      measured: `${percentile(idle, 0.99).toFixed(1)} ms`,
      goal: '',
      met: true,
    },
    {
      what: 'of these not answered 200',
      measured: `${loaded.others.length} of ${loaded.milliseconds.length}`,
      goal: '0',
      met: loaded.others.length === 0,
    },
    {
      what: 'p50, and the longest',
      measured: `${percentile(loaded, 0.5).toFixed(1)} ms, ${percentile(loaded, 1).toFixed(0)} ms (without ${percentile(calm, 0.5).toFixed(1)} ms, ${percentile(calm, 1).toFixed(0)} ms)`,
      goal: '',
      met: true,
    },
    {
      what: "p99 of the api's event loop, and the longest",
      measured: lag.map((ms) => `${ms.toFixed(0)} ms`).join(', '),
      goal: '',
      met: true,
    },
    { what: 'peak RSS of the api', measured: `${megabytes.toFixed(0)} MB`, goal: '', met: true },
    {
      what: 'load averages of the machine',
      measured: loadavg()
        .map((load) => load.toFixed(1))
        .join(', '),
      goal: '',
      met: true,
    },
    { what: 'the others', measured: ofOthers.join(', '), goal: '', met: true },
  ],
  raw: { calmBefore, loaded, idle, calmAfter, lag, megabytes, loadAverages: loadavg(), others: load.seen },
});

function begin(): Load {
  const all = new Load(url);
  const get = async (path: string, token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip' };
    const answer = await fetch(`${url}${path}`, { headers });
    await answer.arrayBuffer();
    return String(answer.status);
  };
  all.loop('cuts', CUTS_AT_ONCE, (count) =>
    get(`/v1/activities/${long}/streams?points=${1_000 + count}`, rider.token),
  );
  all.loop('archives', 1, () => get('/v1/account/export', rider.token));
  all.loop('archives of 10,000', 1, () => get('/v1/account/export', hermit.token));
  all.loop('lists', 2, () => get('/v1/activities?limit=200', hermit.token));
  for (const { token } of stalled) all.loop('stalled', 1, () => all.stall(token));
  const secret = world.env.STRAVA_WEBHOOK_PATH_SECRET ?? '';
  all.flood('events', EVENTS_A_SECOND, async (count) => {
    const event = {
      object_type: 'activity',
      object_id: 10_000_000 + count,
      aspect_type: 'create',
      owner_id: Number(attacker),
      subscription_id: 1,
      event_time: 1_760_000_000 + count,
      updates: {},
    };
    const answer = await fetch(`${url}/webhooks/strava/${secret}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(event),
    });
    await answer.arrayBuffer();
    return String(answer.status);
  });
  return all;
}

function probe(seconds: number, at = url): Promise<Probed> {
  const tokens = bystanders.map(({ token }) => token);
  const workerData: Probe = { url: at, path: '/v1/me', tokens, perSecond: PROBES_A_SECOND, seconds };
  return new Promise((resolve, reject) => {
    const prober = new Worker(new URL('./fairness-prober.js', import.meta.url), { workerData });
    prober.once('message', resolve).once('error', reject);
  });
}

/** The lag of the api's event loop since the last call of this function. The api itself causes this delay. */
async function lagMs(): Promise<readonly [p99: number, longest: number]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const of = (name: string) =>
    1_000 * Number(new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(text)?.[1]);
  return [of('p99'), of('max')];
}

/** Samples the memory twice a second. The returned function stops the sampling and returns the highest sample. */
function watchMemory(): () => number {
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, residentMegabytes(pid))), 500);
  return () => {
    clearInterval(timer);
    return most;
  };
}

async function storePrivate(athleteId: string): Promise<void> {
  const pool = await openPool(databaseUrl, [], { statementTimeoutMs: 120_000 });
  const laps = JSON.stringify(
    Array.from({ length: 10 }, (_, n) => ({
      index: n,
      distance_m: 1_000,
      moving_time_s: 300,
      average_heartrate: 150,
    })),
  );
  await pool.database.query(
    `insert into activity (
       provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, laps, splits
     )
     select
       'strava', $1, gen_random_uuid(), 'Private ride ' || n, 'Ride', now() - n * interval '1 hour', 10000, 3000, 3000,
       100, false, true, 0, now(), $2::jsonb, $2::jsonb
     from generate_series(1, $3) as n`,
    [athleteId, laps, PRIVATE_ACTIVITIES],
  );
  await pool.close();
}

function percentile({ milliseconds }: Pick<Probed, 'milliseconds'>, share: number): number {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

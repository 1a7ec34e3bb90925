import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import pg from 'pg';
import { athleteIdOf, migrateUp, timeScale } from '#platform';
import { readRecording } from '../libs/streams/src/recording/recording.js';
import { encode } from '../libs/streams/src/reading/answer.js';
import { StreamFetches } from '../libs/streams/src/lifecycle/stream-fetches.js';
import { openPool } from '../test/harness/test-database.js';
import { median, processorSeconds, report, startChild, type Child, type Finding } from './harness.js';
import { backfillFindings } from './streams-backfill.js';
import { claimFindings } from './streams-claims.js';
import { rawLoad } from './raw-load.js';
import { recordings } from './stream-sample.js';

// Reads of the same rows in three ways, one after the other in each round; then how fast they are stored and claimed, and a
// backfill against the simulator's clock.
const ROUNDS = 5;
const SECONDS = 3;
const CONNECTIONS = 32;
// Larger than the cache of bytes (48 MB), so that whoever goes round reads every one from the database.
const HOURS = 1_200;
const FOUR_HOURS = 320;
// Few enough to stay in it, many enough for each athlete's 600 reads a minute.
const HOT = 600;
const HOUR = 3_600;
const RECORDINGS = 20;
const SECRET = 'a-secret-for-benchmarks-of-at-least-32-characters';
const ISSUER = 'bench';
const FLAGS = ['--max-semi-space-size=8'];
const databaseUrl = process.env.DATABASE_URL ?? '';

interface Read {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Load {
  readonly perSecond: number;
  /** Of the server's processor for each request. */
  readonly milliseconds: number;
}

await migrateUp(databaseUrl);
const database = new pg.Client({ connectionString: databaseUrl });
await database.connect();
const storeMs: number[] = [];
const hours = await store(HOURS, HOUR);
const fourHours = await store(FOUR_HOURS, 4 * HOUR);
await database.query('create table ready_stream (id uuid primary key, body bytea not null)');
await database.query('alter table ready_stream alter column body set storage external');
await database.query('insert into ready_stream select activity_id, body from activity_stream');
await database.query('vacuum analyze');

const api = await startChild(
  'dist/apps/api/src/main.js',
  {
    PORT: '0',
    JWT_SECRET: SECRET,
    JWT_ISSUER: ISSUER,
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
  },
  FLAGS,
);
const contenders = await startChild('dist/bench/stream-contenders.js', {}, FLAGS);
// Each token is verified once, each athlete known.
for (const { headers } of [...hours, ...fourHours]) await warm(headers);
const tagged: Read[] = [];
for (const read of hours) tagged.push(await withTag(read));

const measures = {
  cold: () => load(api, hours, streamPath),
  ready: () => load(contenders, hours, ({ id }) => `/ready/${id}`),
  hot: () => load(api, hours.slice(0, HOT), streamPath),
  obvious: () => load(contenders, hours, ({ id }) => `/obvious/${id}`),
  unchanged: () => load(api, tagged, streamPath, 304),
  me: () => load(api, tagged, () => '/v1/me'),
  cold4: () => load(api, fourHours, streamPath),
  hot4: () => load(api, fourHours.slice(0, HOT / 4), streamPath),
  ready4: () => load(contenders, fourHours, ({ id }) => `/ready/${id}`),
  obvious4: () => load(contenders, fourHours, ({ id }) => `/obvious/${id}`),
};
type Measure = keyof typeof measures;
const rounds: Array<Record<Measure, Load>> = [];
for (const warmUp of ['cold', 'ready', 'hot', 'unchanged', 'me'] as const) await measures[warmUp]();
for (let round = 0; round < ROUNDS; round += 1) {
  const loads: Partial<Record<Measure, Load>> = {};
  for (const [name, measure] of Object.entries(measures)) loads[name as Measure] = await measure();
  rounds.push(loads as Record<Measure, Load>);
}
await Promise.all([api.stop(), contenders.stop()]);

const rate = (name: Measure) => median(rounds.map((round) => round[name].perSecond));
const cost = (name: Measure) => median(rounds.map((round) => round[name].milliseconds));
const ratio = (name: Measure, to: Measure) =>
  median(rounds.map((round) => round[name].perSecond / round[to].perSecond));
const store50 = median(storeMs);

const findings: Finding[] = [
  times('an hour, hot / obvious', ratio('hot', 'obvious'), rate('hot'), rate('obvious'), 20),
  times('an hour, cold / obvious', ratio('cold', 'obvious'), rate('cold'), rate('obvious'), 20),
  percent('an hour, cold / ready bytes', ratio('cold', 'ready'), rate('cold'), rate('ready'), 80),
  percent('an hour, hot / ready bytes', ratio('hot', 'ready'), rate('hot'), rate('ready'), 200),
  times('four hours, hot / obvious', ratio('hot4', 'obvious4'), rate('hot4'), rate('obvious4'), 20),
  times('four hours, cold / obvious', ratio('cold4', 'obvious4'), rate('cold4'), rate('obvious4'), 20),
  percent('four hours, cold / ready bytes', ratio('cold4', 'ready4'), rate('cold4'), rate('ready4'), 80),
  percent('four hours, hot / ready bytes', ratio('hot4', 'ready4'), rate('hot4'), rate('ready4'), 200),
  ...(['hot', 'cold'] as const).map((name) => ({
    what: `processor time of a ${name} read, an hour`,
    measured: `${cost(name).toFixed(3)} ms`,
    goal: '≤ 0.2 ms',
    met: cost(name) <= 0.2,
  })),
  percent('304 / trivial authenticated GET', ratio('unchanged', 'me'), rate('unchanged'), rate('me'), 85),
  {
    what: 'store an hour: check, encode, write; p50',
    measured: `${store50.toFixed(1)} ms`,
    goal: '≤ 25 ms',
    met: store50 <= 25,
  },
  ...(await claimFindings(databaseUrl)),
];
await database.end();
const backfill = await backfillFindings(databaseUrl);
report('streams', [...findings, ...backfill.findings], { rounds, storeMs, backfill: backfill.raw });

/** As the worker does it, one after the other; each activity is another athlete's. */
async function store(count: number, points: number): Promise<Read[]> {
  const pool = await openPool(databaseUrl);
  const fetches = new StreamFetches(pool.database, timeScale(1));
  const rides = recordings(RECORDINGS, points);
  const reads: Read[] = [];
  for (let n = 0; n < count; n += 1) {
    const subject = randomUUID();
    const athleteId = athleteIdOf(ISSUER, subject);
    const { rows } = await database.query<{ id: string }>(
      `with athlete as (insert into athlete (id, issuer, subject) values ($1, $2, $3) returning id)
       insert into activity (
         athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at
       )
       select id, $4, 'Ride', 'Ride', now(), 30000, 3600, 3600, 100, false, false, 0, now() from athlete
       returning id`,
      [athleteId, ISSUER, subject, `${n}`],
    );
    const id = rows[0]?.id ?? '';
    const raw = rides[n % RECORDINGS] ?? {};
    const claim = await fetches.claim(id);
    const begunAt = performance.now();
    const recording = readRecording(raw);
    if (!claim || !recording) throw new Error('nothing to store');
    const fetchedAt = new Date();
    const stored = await encode(id, 'strava', fetchedAt, recording);
    if (!(await fetches.succeed(claim, 'strava', fetchedAt, stored))) throw new Error('not stored');
    if (points === HOUR) storeMs.push(performance.now() - begunAt);
    reads.push({
      id,
      headers: { authorization: `Bearer ${await token(subject)}`, 'accept-encoding': 'gzip' },
    });
  }
  await pool.close();
  return reads;
}

async function warm(headers: Read['headers']): Promise<void> {
  await (await fetch(`${api.url}/v1/me`, { headers })).arrayBuffer();
}

async function withTag({ id, headers }: Read): Promise<Read> {
  const answer = await fetch(`${api.url}${streamPath({ id, headers })}`, { headers });
  await answer.arrayBuffer();
  return { id, headers: { ...headers, 'if-none-match': answer.headers.get('etag') ?? '' } };
}

/** Every connection goes round, each from another place, so that no two ask for the same at the same time. */
async function load(
  { url, process: { pid = 0 } }: Child,
  reads: readonly Read[],
  pathOf: (read: Read) => string,
  status = 200,
): Promise<Load> {
  const requests = reads.map((read) => ({ path: pathOf(read), headers: read.headers }));
  const lists = Array.from({ length: CONNECTIONS }, (_, connection) => {
    const from = Math.floor((requests.length * connection) / CONNECTIONS);
    return [...requests.slice(from), ...requests.slice(0, from)];
  });
  const before = processorSeconds(pid);
  const { perSecond, total } = await rawLoad(url, lists, { seconds: SECONDS, status });
  return { perSecond, milliseconds: ((processorSeconds(pid) - before) * 1e3) / total };
}

function token(subject: string): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(subject)
    .setIssuer(ISSUER)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(SECRET));
}

function times(what: string, value: number, ours: number, theirs: number, goal: number): Finding {
  return {
    what,
    measured: `${value.toFixed(1)}× (${words(ours, theirs)})`,
    goal: `≥ ${goal}×`,
    met: value >= goal,
  };
}

function percent(what: string, value: number, ours: number, theirs: number, goal: number): Finding {
  const measured = `${(100 * value).toFixed(0)} % (${words(ours, theirs)})`;
  return { what, measured, goal: `≥ ${goal} %`, met: 100 * value >= goal };
}

function words(ours: number, theirs: number): string {
  return `${Math.round(ours).toLocaleString('en')}/s of ${Math.round(theirs).toLocaleString('en')}/s`;
}

function streamPath({ id }: Read): string {
  return `/v1/activities/${id}/streams`;
}

import { randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { SignJWT } from 'jose';
import pg from 'pg';
import { athleteIdOf, migrateUp, timeScale } from '#platform';
import { readRecording } from '../libs/streams/src/recording/recording.js';
import { encode } from '../libs/streams/src/reading/answer.js';
import { StreamFetches } from '../libs/streams/src/lifecycle/stream-fetches.js';
import { openPool } from '../test/harness/test-database.js';
import { processorSeconds, report, roundsOr, startChild, verify, type Child } from './harness.js';
import { compare, figure, type Finding, median } from './results.js';
import { claimFindings } from './streams-claims.js';
import { rawLoad } from './raw-load.js';
import { recordings } from './stream-sample.js';

// Each round reads the same rows in three ways, one after the other: by the api, as stored bytes that a bare server selects and sends, and as
// a TypeORM entity whose JSON a bare server compresses. Then this measures claims.
const ROUNDS = roundsOr(5);
const SECONDS = 3;
const CONNECTIONS = 32;
// These recordings together are larger than the byte cache (48 MB). So reading all of them in turn always reads the database.
const HOURS = 1_200;
const FOUR_HOURS = 320;
// So few recordings stay in the cache. They are others than those above: a cold read must not find them there. Each belongs to another
// athlete, because an athlete may make only 600 reads a minute. A fast machine makes more in a minute of measures, so each measure begins
// with a new count.
const HOT = 600;
const HOUR = 3_600;
const RECORDINGS = 20;
const SECRET = 'a-secret-for-benchmarks-of-at-least-32-characters';
const ISSUER = 'bench';
const FLAGS = ['--max-semi-space-size=8'];
// As docs/benchmarks.md names them.
const PEERS: Readonly<Record<string, string>> = {
  obvious: 'TypeORM entity, compressed for each answer',
  obvious4: 'TypeORM entity, compressed for each answer',
  ready: 'bare server that selects and sends stored bytes',
  ready4: 'bare server that selects and sends stored bytes',
  me: 'trivial authenticated GET',
};
const databaseUrl = process.env.DATABASE_URL ?? '';

interface Read {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Load {
  readonly perSecond: number;
  /** The server's processor time for each request. */
  readonly milliseconds: number;
}

await migrateUp(databaseUrl);
const database = new pg.Client({ connectionString: databaseUrl });
await database.connect();
const redis = new Redis(process.env.REDIS_URL ?? '');
const storeMs: number[] = [];
const hours = await store(HOURS, HOUR);
const fourHours = await store(FOUR_HOURS, 4 * HOUR);
const hotHours = await store(HOT, HOUR);
const hotFourHours = await store(HOT / 4, 4 * HOUR);
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
const [ready, obvious] = (await Promise.all(
  ['ready', 'obvious'].map((CONTENDER) =>
    startChild('dist/bench/stream-contenders.js', { CONTENDER }, FLAGS),
  ),
)) as [Child, Child];
// The warm-up verifies each token, creates each athlete and compares the bytes.
const tagged: Read[] = [];
for (const read of hours) tagged.push(await withTag(read));
for (const read of [...fourHours, ...hotHours, ...hotFourHours]) await withTag(read);

const pathOf = ({ id }: Read) => `/${id}`;
const measures = {
  cold: () => load(api, hours, streamPath),
  ready: () => load(ready, hours, pathOf),
  hot: () => load(api, hotHours, streamPath),
  obvious: () => load(obvious, hours, pathOf),
  unchanged: () => load(api, tagged, streamPath, 304),
  me: () => load(api, tagged, () => '/v1/me'),
  cold4: () => load(api, fourHours, streamPath),
  hot4: () => load(api, hotFourHours, streamPath),
  ready4: () => load(ready, fourHours, pathOf),
  obvious4: () => load(obvious, fourHours, pathOf),
};
type Measure = keyof typeof measures;
const rounds: Array<Record<Measure, Load>> = [];
for (const warmUp of ['cold', 'ready', 'hot', 'unchanged', 'me'] as const) await measures[warmUp]();
for (let round = 0; round < ROUNDS; round += 1) {
  const loads: Partial<Record<Measure, Load>> = {};
  for (const [name, measure] of Object.entries(measures)) loads[name as Measure] = await measure();
  rounds.push(loads as Record<Measure, Load>);
}
await Promise.all([api, ready, obvious].map((child) => child.stop()));
redis.disconnect();

const each = (name: Measure, what: keyof Load) => rounds.map((round) => round[name][what]);
const against = (name: Measure, peer: Measure, what: keyof Load = 'perSecond') => ({
  peer: PEERS[peer] ?? peer,
  ours: each(name, what),
  theirs: each(peer, what),
  unit: what === 'perSecond' ? '/s' : 'ms',
});
const recorded = (points: '' | '4') => [
  ...(['hot', 'cold'] as const).flatMap((kind) => [
    compare({
      what: `${kind} read, ${points || 'an'} hour${points && 's'}`,
      ...against(`${kind}${points}`, `obvious${points}`),
      goal: { atLeast: 20 },
    }),
    compare({
      what: `${kind} read, ${points || 'an'} hour${points && 's'}`,
      ...against(`${kind}${points}`, `ready${points}`),
      goal: { atLeast: kind === 'hot' ? 2 : 0.8 },
    }),
  ]),
  compare({
    what: `processor time of a cold read, ${points || 'an'} hour${points && 's'}`,
    ...against(`cold${points}`, `ready${points}`, 'milliseconds'),
    goal: { atMost: 1.3 },
  }),
];

const findings: Finding[] = [
  ...recorded(''),
  ...recorded('4'),
  figure({
    what: 'processor time of a hot read, an hour',
    values: each('hot', 'milliseconds'),
    unit: 'ms',
    goal: { atMost: 0.2 },
  }),
  compare({ what: '304', ...against('unchanged', 'me'), goal: { atLeast: 0.85 } }),
  figure({
    what: 'store an hour: check, encode, write; p50',
    values: [median(storeMs)],
    unit: 'ms',
    goal: { atMost: 25 },
  }),
  ...(await claimFindings(databaseUrl)),
];
await database.end();
await report({
  name: 'streams',
  peers: ['typeorm', 'fastify', 'pg'],
  findings,
  raw: { rounds, storeMs },
});

/** Stores streams as the worker does, one after the other. Each activity belongs to another athlete. */
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
         provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at
       )
       select 'strava', id, $4, 'Ride', 'Ride', now(), 30000, 3600, 3600, 100, false, false, 0, now() from athlete
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

/** The answer's version, for a read that is answered with 304. The answer must be the stored recording. */
async function withTag({ id, headers }: Read): Promise<Read> {
  const answer = await fetch(`${api.url}${streamPath({ id, headers })}`, { headers });
  const json = Buffer.from(await answer.arrayBuffer());
  const { rows } = await database.query<{ body: Buffer }>(
    'select body from activity_stream where activity_id = $1',
    [id],
  );
  const isStored = gunzipSync(rows[0]?.body ?? '').equals(json);
  verify('recordings served as they are stored', isStored ? 1 : 0, 1);
  return { id, headers: { ...headers, 'if-none-match': answer.headers.get('etag') ?? '' } };
}

/** Each connection reads the list in a circle from its own start. So no two connections request the same item at the same time. */
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
  await redis.flushdb();
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

function streamPath({ id }: Read): string {
  return `/v1/activities/${id}/streams`;
}

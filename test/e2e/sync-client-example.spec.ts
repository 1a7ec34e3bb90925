import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import sqlite from 'node-sqlite3-wasm';
import { eventually } from '../harness/eventually.js';
import { World } from '../harness/world.js';

const ATHLETES = 6;
const KILLS = 6;
const OF_EACH = 30;

type Item = Readonly<Record<string, unknown>>;

let world: World;
let key: string;
let folder: string;
let file: string;
const running = new Set<ChildProcess>();
beforeAll(async () => {
  world = await World.start();
  key = await world.serviceKey('read', 'events');
  folder = mkdtempSync(path.join(tmpdir(), 'sync-client-'));
  file = path.join(folder, 'mirror.sqlite');
}, 180_000);
afterAll(async () => {
  await Promise.all([...running].map((client) => kill(client)));
  await world?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function start(): ChildProcess {
  const client = spawn(process.execPath, ['dist/examples/sync-client/main.js'], {
    env: { PATH: process.env.PATH, API: world.api.url, KEY: key, FILE: file },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  running.add(client);
  return client;
}

async function kill(client: ChildProcess): Promise<void> {
  expect(client.exitCode).toBeNull();
  const ended = once(client, 'exit');
  client.kill('SIGKILL');
  await ended;
  running.delete(client);
}

/** Reads a copy: the client ends with an error if the file is locked. A copy of a file that is being written may be unreadable. */
function inMirror<Row extends object>(statement: string): Row[] {
  const copy = `${file}.copy`;
  copyFileSync(file, copy);
  const db = new sqlite.Database(copy, { readOnly: true });
  try {
    return db.all(statement) as unknown as Row[];
  } finally {
    db.close();
  }
}

const mirrored = () =>
  inMirror<{ data: string }>('select data from activity order by id').map(
    ({ data }) => JSON.parse(data) as Item,
  );

/** Every activity as `GET /v1/activities` lists it, in the order of ids. */
async function listed(): Promise<Item[]> {
  const athletes = await world.rows<{ id: string }>('select id from athlete');
  const headers = { authorization: `Bearer ${key}` };
  const lists = athletes.map(async ({ id }) => {
    const own = { ...headers, 'pacekeeper-athlete': id };
    return (await world.call<{ items: Item[] }>(id, 'GET', '/v1/activities?limit=200', undefined, own)).body
      .items;
  });
  return (await Promise.all(lists)).flat().sort((one, other) => (String(one.id) < String(other.id) ? -1 : 1));
}

/** Waits until the client has every activity of the product, and kills it. Returns them. */
async function assertMirrorsAll(client: ChildProcess): Promise<Item[]> {
  await eventually(
    'nothing is under way',
    async () => {
      const open = "select from jobs where status not in ('succeeded', 'failed', 'cancelled')";
      const imports = 'select from import_jobs where finished_at is null';
      const deletions = 'select from receipt where completed_at is null';
      const streams = "select from activity where stream_fetch_status in ('pending', 'fetching')";
      const all = [open, imports, deletions, streams];
      const rows = await Promise.all(all.map((statement) => world.rows(statement)));
      return rows.flat().length === 0;
    },
    120_000,
  );
  const items = await listed();
  const isComplete = () =>
    inMirror('select 1 from place where is_complete = 1').length === 1 &&
    isDeepStrictEqual(mirrored(), items);
  const hasAll = await eventually('the client has all', isComplete, 60_000).catch(() => false);
  await kill(client);
  // Before `hasAll`, because a failure here shows the difference.
  expect(mirrored()).toEqual(items);
  expect(hasAll).toBe(true);
  return items;
}

async function latest(): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await world.call<{ next_cursor: string }>(
    '',
    'GET',
    '/v1/changes?after=latest',
    undefined,
    headers,
  );
  return answer.body.next_cursor;
}

const store = (athlete: string, count: number) =>
  world.rows(
    `insert into activity (
       athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
     )
     select $1, 'strava', gen_random_uuid(), 'Run', 'Run', now() - random() * interval '300 days', 1, 1, 1, 1, true, false, 0, now(), 'unavailable'
     from generate_series(1, $2) as n`,
    [athlete, count],
  );

it('the sync client has every activity of the product after kills at any moment, also those of imports, departures and expired cursors', async () => {
  const athletes = Array.from({ length: ATHLETES }, () => randomUUID());
  for (const athlete of athletes) {
    await world.call(athlete, 'GET', '/v1/me');
    await store(athlete, OF_EACH);
  }
  const [leaver = '', disconnected = '', imported = ''] = athletes;
  await world.connect(disconnected, await world.vendorAthlete(10));
  for (let round = 0; round < KILLS; round += 1) {
    const client = start();
    if (round === 1) await world.connect(imported, await world.vendorAthlete(20));
    for (const athlete of athletes) {
      await world.rows(
        'update activity set name = $2 where id = any(array(select id from activity where athlete_id = $1 order by random() limit 5))',
        [athlete, `renamed ${round}`],
      );
      await world.rows(
        'delete from activity where id = (select id from activity where athlete_id = $1 order by random() limit 1)',
        [athlete],
      );
      if (athlete !== leaver || round < 3) await store(athlete, 2);
    }
    if (round === 3) await world.call(leaver, 'DELETE', '/v1/account');
    if (round === 4) await world.call(disconnected, 'DELETE', '/v1/connections/strava');
    // From the second round on, the client is copying, following changes, or waiting for changes.
    await eventually(
      'the client has begun',
      () => round === 0 || inMirror('select cursor from place').length === 1,
    );
    await kill(client);
  }
  const items = await assertMirrorsAll(start());
  expect(items.length).toBeGreaterThan(ATHLETES * OF_EACH - OF_EACH);

  // The client is away for longer than changes are kept, and misses a deletion.
  const [gone] = await world.rows<{ id: string }>('delete from activity where athlete_id = $1 returning id', [
    imported,
  ]);
  await eventually('the deletion is in the log', async () => {
    await latest();
    return (await world.rows('select from change where subject_id = $1', [gone?.id])).length > 0;
  });
  await world.rows("update change set occurred_at = occurred_at - interval '30 days'");
  await eventually(
    'the worker has purged the log',
    async () => (await world.rows('select from change')).length === 0,
  );
  const left = await assertMirrorsAll(start());
  expect(left.length).toBeLessThan(items.length);
}, 360_000);

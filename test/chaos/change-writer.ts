import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type ChangeType, Changes, type Sql } from '#platform';
import { openPool } from '../harness/test-database.js';

// A process that makes changes until it is killed: node change-writer.js, with DATABASE_URL and CHANGES_PER_SECOND. It prints a JSON line with
// the ids of each transaction: `rolledBack` before it rolls back, `committed` after Postgres has confirmed the commit. A transaction under way
// when a process dies is in neither; the ledger says how it ended.
const ATHLETES = 20;
const NIGHTS = 30;
const ROLLED_BACK = 0.1;
// Such a transaction commits after many that began later.
const SLOW = 0.02;
const SLOW_MS = 2_000;
const MOST_RECORDED = 40;
const RECONNECT_MS = 100;
const RECORDED: readonly ChangeType[] = ['import.completed', 'import.rate_limited', 'connection.active'];

class RolledBack extends Error {}

const url = process.env.DATABASE_URL ?? '';
const perSecond = Number(process.env.CHANGES_PER_SECOND);
const { database } = await openPool(url, [], { poolSize: 4, statementTimeoutMs: 10_000 });
const changes = new Changes(database);

const chance = (share: number) => Math.random() < share;
const below = (count: number) => Math.floor(Math.random() * count);
const athletes = (
  await database.query<{ id: string; subject: string }>('select id, subject from athlete order by id')
).rows;
const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** Changes that no trigger writes, each of a subject of its own. */
async function record(sql: Sql): Promise<void> {
  const athleteId = athletes[below(ATHLETES)]!.id;
  for (let left = 1 + below(MOST_RECORDED); left > 0; left -= 1) {
    const type = RECORDED[below(RECORDED.length)]!;
    await changes.record(sql, {
      type,
      athleteId,
      subjectId: randomUUID(),
      data: { name: 'a subject', left },
    });
  }
}

/** All writers change the same few nights, in the order of their dates, and delete some: a night that returns goes on with its revisions. */
async function writeNights(sql: Sql): Promise<void> {
  const { subject } = athletes[below(ATHLETES)]!;
  const first = below(NIGHTS);
  const some = [subject, first, first + below(8)];
  if (chance(0.2))
    await sql.query(
      `delete from sleep_data
       where (user_id, date) in (
         select user_id, date from sleep_data
         where user_id = $1 and date between date '2026-01-01' + $2::int and date '2026-01-01' + $3::int
         order by date
         for update
       )`,
      some,
    );
  else
    await sql.query(
      `insert into sleep_data (user_id, date, duration_minutes, vendor, captured_at, event_id)
       select $1, date '2026-01-01' + n, floor(random() * 600), 'oura', clock_timestamp(), gen_random_uuid()
       from generate_series($2::int, $3::int) as n
       on conflict (user_id, date) do update set duration_minutes = excluded.duration_minutes, captured_at = excluded.captured_at`,
      some,
    );
}

async function writeActivities(sql: Sql): Promise<void> {
  const { id } = athletes[below(ATHLETES)]!;
  await sql.query(
    `insert into activity (
       athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, stream_fetch_status
     )
     values ($1, 'strava', gen_random_uuid(), 'Run', 'Run', now() - random() * interval '300 days', 1, 1, 1, 1, true, false, 0, now(), 'unavailable')`,
    [id],
  );
  for (const statement of [
    `update activity set name = 'Run ' || random() where id = any(array(
       select id from activity where athlete_id = $1 order by random() limit 3 for update skip locked))`,
    `delete from activity where id = any(array(
       select id from activity where athlete_id = $1 order by random() limit 1 for update skip locked))`,
  ])
    if (chance(0.5)) await sql.query(statement, [id]);
}

const KINDS = [record, record, writeNights, writeNights, writeNights, writeNights, writeActivities];

/** Returns the number of changes, and prints how the transaction ended. */
async function transact(): Promise<number> {
  const work = KINDS[below(KINDS.length)]!;
  let ids: readonly string[] = [];
  try {
    await database.transaction(async (sql) => {
      await work(sql);
      const own = 'select id from change_outbox where xmin = pg_current_xact_id()::xid';
      ids = (await sql.query<{ id: string }>(own)).rows.map(({ id }) => id);
      if (chance(SLOW)) await pause(SLOW_MS);
      if (!chance(ROLLED_BACK)) return;
      print({ rolledBack: ids });
      throw new RolledBack();
    });
    print({ committed: ids });
  } catch (error) {
    // Postgres may be away, or end one of two transactions that wait for each other.
    if (!(error instanceof RolledBack)) await pause(RECONNECT_MS);
  }
  return ids.length;
}

/** Two transactions at a time, so that a slow one is overtaken. */
async function write(): Promise<never> {
  for (;;) {
    const begunAtMs = performance.now();
    const count = await transact();
    await pause(Math.max(0, begunAtMs + (count * 2_000) / perSecond - performance.now()));
  }
}

print({ msg: 'ready' });
await Promise.all([write(), write()]);

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type Sql } from '../database/database.js';
import { Changes } from './changes.js';

const WRITERS = 8;

interface Row {
  readonly seq: string;
  readonly id: string;
  readonly revision: string;
  readonly subject_id: string;
  readonly data: unknown;
}

let open: OpenDatabase;
let changes: Changes;
beforeAll(async () => {
  open = await openTestDatabase([], { poolSize: WRITERS + 4 });
  changes = new Changes(open.database);
});
beforeEach(() => open.database.query('truncate change, change_outbox'));
afterAll(() => open.close());

const athleteId = randomUUID();
const record = (sql: Sql, subjectId: string) =>
  changes.record(sql, { type: 'import.completed', athleteId, subjectId, data: { id: subjectId } });
const log = async (after = '0') =>
  (await open.database.query<Row>('select * from change where seq > $1 order by seq', [after])).rows;
const subjects = async () => (await log()).map(({ subject_id }) => subject_id);

/** A transaction that has written and ends only when told to. */
async function writing(subjectId: string): Promise<{ commit(): Promise<void> }> {
  let commit: () => void = () => undefined;
  const allowed = new Promise<void>((resolve) => (commit = resolve));
  let ended = Promise.resolve();
  await new Promise<void>((written, reject) => {
    ended = open.database.transaction(async (sql) => {
      await record(sql, subjectId);
      written();
      await allowed;
    });
    ended.catch(reject);
  });
  return {
    commit: () => {
      commit();
      return ended;
    },
  };
}

describe('the log of changes', () => {
  it('the log of changes gets changes in the order of their commits, not of their revisions', async () => {
    const writers = await Promise.all(Array.from({ length: WRITERS }, (_, n) => writing(`subject ${n}`)));
    for (const writer of [...writers].reverse()) {
      await writer.commit();
      expect(await changes.sequence()).toBe(1);
    }
    expect(await subjects()).toEqual(Array.from({ length: WRITERS }, (_, n) => `subject ${WRITERS - 1 - n}`));
  });

  it('the log of changes gets all other changes while a transaction stays open, and its change once it commits', async () => {
    const hanging = await writing('late');
    await record(open.database, 'quick');
    await changes.sequence();
    expect(await subjects()).toEqual(['quick']);
    await hanging.commit();
    await changes.sequence();
    expect(await subjects()).toEqual(['quick', 'late']);
  });

  it('the log of changes lacks the change of a transaction that was rolled back', async () => {
    const failing = open.database.transaction(async (sql) => {
      await record(sql, 'never');
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    await record(open.database, 'after it');
    await changes.sequence();
    expect(await subjects()).toEqual(['after it']);
  });

  it('each change is in the log once although three processes sequence it, and a reader who follows the log misses none', async () => {
    const perWriter = 60;
    let isOver = false;
    const sequencers = Array.from({ length: 3 }, async () => {
      while (!isOver) await new Changes(open.database).sequence();
    });
    const seen: Row[] = [];
    const reader = (async () => {
      while (seen.length < WRITERS * perWriter) seen.push(...(await log(seen.at(-1)?.seq)));
    })();
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      for (let n = 0; n < perWriter; n += 1)
        await open.database.transaction(async (sql) => {
          await record(sql, `${writer}`);
          // Some transactions stay open while others come and go.
          if (n % 10 === writer) await sql.query('select pg_sleep(0.02)');
        });
    });
    await Promise.all(writers);
    await eventually('the reader has all', () => seen.length >= WRITERS * perWriter);
    isOver = true;
    await Promise.all([...sequencers, reader]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(WRITERS * perWriter);
    for (let writer = 0; writer < WRITERS; writer += 1) {
      const revisions = seen
        .filter(({ subject_id }) => subject_id === `${writer}`)
        .map(({ revision }) => Number(revision));
      expect(revisions).toEqual([...revisions].sort((one, other) => one - other));
    }
  });

  it('the log of changes gets a processed activity with its present item, and with none if the activity is gone', async () => {
    const { rows } = await open.database.query<{ id: string }>(
      `with ann as (insert into athlete (id, issuer, subject) values ($1, 'test', 'ann') returning id)
       insert into activity (
         athlete_id, provider, asked_at, external_activity_id, name, sport_type, start_time,
         utc_offset_s, distance_m, moving_time_s, elapsed_time_s, elevation_gain_m, manual, private, total_photo_count
       )
       select id, 'strava', now(), '1', 'Run', 'Run', now(), 0, 1, 1, 1, 1, false, false, 0 from ann
       returning id`,
      [athleteId],
    );
    await changes.sequence();
    const processed = `insert into change_outbox (type, athlete_id, subject_id) values ('activity.processed', $1, $2)`;
    await open.database.query(processed, [athleteId, rows[0]?.id]);
    await open.database.query(processed, [athleteId, randomUUID()]);
    await changes.sequence();
    const [made, present, gone] = await log();
    expect(present?.data).toEqual(made?.data);
    expect([typeof present?.data, gone?.data]).toEqual(['object', null]);
  });

  it('one call moves more changes than one batch to the log', async () => {
    await open.database.query(
      `insert into change_outbox (type, athlete_id, subject_id) select 'activity.deleted', $1, n from generate_series(1, 2500) as n`,
      [athleteId],
    );
    expect(await changes.sequence()).toBe(2_500);
    const rows = await log();
    const [first] = rows;
    expect(rows.map(({ seq }) => Number(seq) - Number(first?.seq))).toEqual(rows.map((_, n) => n));
  });
});

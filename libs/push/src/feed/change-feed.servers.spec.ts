import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { cursorAt, type Sql, timeScale } from '#platform';
import { changeText } from '../change.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { PushWorld, subjectsOf } from '../push.harness.js';
import { ChangeRetention } from '../relay/change-retention.js';
import { type Page } from './change-feed.js';
import { BEGINNING, cursorOf, type Place, placeOf } from './cursor.js';

const WRITERS = 8;
const DAY_MS = 86_400_000;

let world: PushWorld;
beforeAll(async () => (world = await PushWorld.start()));
beforeEach(() => world.reset());
afterAll(() => world.stop());

const athlete = randomUUID();
const other = randomUUID();

/** A transaction that has written a change and commits only when told to. */
async function writing(subject: string): Promise<() => Promise<void>> {
  let commit: () => void = () => undefined;
  const allowed = new Promise<void>((resolve) => (commit = resolve));
  let ended = Promise.resolve();
  await new Promise<void>((written, reject) => {
    ended = world.open.database.transaction(async (sql: Sql) => {
      await world.change(athlete, subject, { sql });
      written();
      await allowed;
    });
    ended.catch(reject);
  });
  return () => {
    commit();
    return ended;
  };
}

/** Deletes changes of more than a day, of which all are published. */
const purge = async () => {
  await world.sql.query('update change_relay set published_seq = (select last_seq from change_feed)');
  await world.sql.query('update delivery_plan set planned_seq = (select last_seq from change_feed)');
  const config = { changes: { retentionDays: 1 } };
  return new ChangeRetention(world.open.database, {} as never, config, timeScale(1)).runOnce();
};
const age = (count: number) =>
  world.sql.query(
    `update change set occurred_at = occurred_at - interval '2 days'
     where seq <= (select min(seq) from change) + $1 - 1`,
    [count],
  );
const expired = (after: Place) =>
  world.page({ after }).then(
    () => undefined,
    ({ code, fields }: { code: string; fields: Record<string, string> }) => ({ code, ...fields }),
  );

describe('the feed of changes', () => {
  it('the feed of changes gives a reader each change once, though 8 writers commit in reversed order and one hangs', async () => {
    const hanging = await writing('late');
    const commits = await Promise.all(Array.from({ length: WRITERS }, (_, n) => writing(`${n}`)));
    const seen: string[] = [];
    let after: Place | undefined;
    const read = async () => {
      const page = await world.page({ after, limit: 2 });
      seen.push(...subjectsOf(page));
      after = page.next;
      if (page.hasMore) await read();
    };
    await read();
    for (const commit of commits.reverse()) {
      await commit();
      await read();
    }
    expect(seen).toEqual(Array.from({ length: WRITERS }, (_, n) => `${WRITERS - 1 - n}`));
    await hanging();
    await read();
    expect(seen.at(-1)).toBe('late');
    expect(seen).toHaveLength(WRITERS + 1);
  });

  it('Postgres ends a transaction that hangs for 10 s, and its change never appears in the feed', async () => {
    const idle =
      "select setting::int as ms from pg_settings where name = 'idle_in_transaction_session_timeout'";
    expect((await world.sql.query<{ ms: number }>(idle)).rows).toEqual([{ ms: 10_000 }]);
    const isThere = 'select from pg_stat_activity where pid = $1';
    const hanging = world.open.database.transaction(async (sql: Sql) => {
      await world.change(athlete, 'never', { sql });
      const { rows } = await sql.query<{ pid: number }>('select pg_backend_pid() as pid');
      await sql.query("set local idle_in_transaction_session_timeout = '50ms'");
      await eventually('the session is over', async () => {
        const { count } = await world.sql.query(isThere, [rows[0]?.pid]);
        return count === 0;
      });
    });
    await expect(hanging).rejects.toThrow();
    await world.change(athlete, 'next');
    expect(subjectsOf(await world.page())).toEqual(['next']);
  });

  it('an empty log answers a cursor and no more changes, and the next page goes on from that cursor', async () => {
    const empty = await world.page();
    expect(empty).toEqual({ items: [], next: BEGINNING, hasMore: false });
    expect(await world.feed.head()).toEqual(BEGINNING);
    await world.change(athlete, 'first');
    expect(subjectsOf(await world.page({ after: empty.next }))).toEqual(['first']);
  });

  it('the feed of changes shows an athlete only their own changes, and moves the cursor past those of others', async () => {
    for (const subject of ['1', '2']) {
      await world.change(athlete, subject);
      await world.change(other, `other ${subject}`);
    }
    const page = await world.page({ athleteId: athlete, limit: 10 });
    expect(subjectsOf(page)).toEqual(['1', '2']);
    expect(page.hasMore).toBe(false);
    expect(page.next).toEqual(await world.feed.head());
    const first = await world.page({ athleteId: athlete, limit: 1 });
    expect([subjectsOf(first), first.hasMore]).toEqual([['1'], true]);
    expect(subjectsOf(await world.page({ athleteId: athlete, after: first.next }))).toEqual(['2']);
  });

  it.each([
    ['all athletes', undefined],
    ['an athlete', athlete],
  ])(
    'the feed of changes looks at a bounded number of changes of %s for a filtered page, and goes on behind them',
    async (_, athleteId) => {
      await world.sql.query(
        `insert into change_outbox (type, athlete_id, subject_id)
         select 'activity.deleted', $1, n from generate_series(1, 10050) as n`,
        [athlete],
      );
      await world.news.sequence();
      await world.change(athlete, 'wanted');
      const query = { athleteId, types: ['sleep.stored'] as const };
      const nothing = await world.page(query);
      expect([nothing.items, nothing.hasMore, nothing.next.seq]).toEqual([[], true, 10_000]);
      const found = await world.page({ ...query, after: nothing.next });
      expect([subjectsOf(found), found.hasMore]).toEqual([['wanted'], false]);
    },
  );

  it('the feed of changes answers the stored JSON of a change unchanged', async () => {
    await world.change(athlete, 'a "quoted" subject', { data: { big: 1e21, text: 'ü\n' } });
    const [change] = (await world.page()).items;
    expect(JSON.parse(changeText(change!))).toEqual({
      id: expect.any(String),
      type: 'sleep.stored',
      athlete_id: athlete,
      subject_id: 'a "quoted" subject',
      revision: expect.any(Number),
      occurred_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { subject: 'a "quoted" subject', big: 1e21, text: 'ü\n' },
    });
  });

  it('the feed of changes accepts the cursor of the newest purged change, and answers 410 with the oldest cursor for an older one', async () => {
    for (let n = 1; n <= 5; n += 1) await world.change(athlete, `${n}`);
    const second = (await world.page({ limit: 2 })).next;
    const third = (await world.page({ limit: 3 })).next;
    await age(3);
    expect(await purge()).toBe(3);
    expect(subjectsOf(await world.page({ after: third }))).toEqual(['4', '5']);
    expect(subjectsOf(await world.page())).toEqual(['4', '5']);
    const answer = { code: 'CURSOR_EXPIRED', oldest_cursor: cursorOf(third) };
    for (const after of [second, BEGINNING]) expect(await expired(after)).toEqual(answer);
    await age(2);
    await purge();
    const head = await world.feed.head();
    expect(await world.page()).toEqual({ items: [], next: head, hasMore: false });
    expect(await world.page({ after: head })).toEqual({ items: [], next: head, hasMore: false });
  });

  it('the feed of changes keeps old changes that are not published or not planned for webhooks, and those behind a younger one', async () => {
    for (let n = 1; n <= 4; n += 1) await world.change(athlete, `${n}`);
    await world.news.sequence();
    await age(4);
    const retention = { changes: { retentionDays: 1 } };
    await world.sql.query('update change_relay set published_seq = 2');
    await world.sql.query('update delivery_plan set planned_seq = 1');
    expect(
      await new ChangeRetention(world.open.database, {} as never, retention, timeScale(1)).runOnce(),
    ).toBe(1);
    await world.sql.query('update delivery_plan set planned_seq = 4');
    expect(
      await new ChangeRetention(world.open.database, {} as never, retention, timeScale(1)).runOnce(),
    ).toBe(1);
    await world.sql.query("update change set occurred_at = now() where subject_id = '3'");
    expect(await purge()).toBe(0);
    expect(subjectsOf(await world.page())).toEqual(['3', '4']);
    // TIME_SCALE divides the days.
    await world.sql.query(
      "update change set occurred_at = clock_timestamp() - $1 * interval '1 millisecond'",
      [DAY_MS / 100],
    );
    const scaled = new ChangeRetention(world.open.database, {} as never, retention, timeScale(200));
    expect(await scaled.runOnce()).toBe(2);
  });

  it('the feed of changes answers 410 for a cursor whose place another change has, and for one beyond the log, as after a restore', async () => {
    for (let n = 1; n <= 3; n += 1) await world.change(athlete, `${n}`);
    const second = (await world.page({ limit: 2 })).next;
    const third = (await world.page({ limit: 3 })).next;
    // The standby that was promoted lacks the last two changes.
    await world.sql.query('delete from change where seq > 1');
    await world.sql.query('update change_feed set last_seq = 1');
    const answer = { code: 'CURSOR_EXPIRED', oldest_cursor: cursorOf(BEGINNING) };
    for (const after of [second, third]) expect(await expired(after)).toEqual(answer);
    await world.change(athlete, 'another');
    expect(subjectsOf(await world.page())).toEqual(['1', 'another']);
    for (const after of [second, third]) expect(await expired(after)).toEqual(answer);
  });

  it('the feed of changes keeps the cursor of a change that a deletion has erased, and skips the change', async () => {
    for (let n = 1; n <= 3; n += 1) await world.change(n === 2 ? other : athlete, `${n}`);
    const second = (await world.page({ limit: 2 })).next;
    await world.sql.query(
      "update change set type = 'erased', athlete_id = null, subject_id = null, data = null where seq = 2",
    );
    expect(subjectsOf(await world.page())).toEqual(['1', '3']);
    expect(subjectsOf(await world.page({ after: second }))).toEqual(['3']);
  });

  it.each([
    '',
    'abc',
    cursorAt({ place: '2026-11-18T08:00:00.000001Z', id: randomUUID() }),
    cursorOf({ seq: 1, mark: 'xyz' }),
  ])('refuses %j as a cursor, and names the field', (text) => {
    expect(() => placeOf(text, 'after')).toThrow(
      expect.objectContaining({ details: [expect.stringMatching(/^after: /)] }),
    );
  });

  it('the feed of changes drops the read of a reader that leaves before its turn, so that the next one is earlier', async () => {
    await world.change(athlete, 'a');
    const [leaving, staying] = [new AbortController(), new AbortController()];
    let stays: Promise<Page> | undefined;
    await world.whileReadsHang(async () => {
      const left = world.page({ athleteId: athlete }, leaving.signal);
      stays = world.page({ athleteId: athlete }, staying.signal);
      leaving.abort(new Error('the reader has left'));
      await expect(left).rejects.toThrow('the reader has left');
    });
    expect(subjectsOf((await stays)!)).toEqual(['a']);
    await expect(world.page({}, leaving.signal)).rejects.toThrow('the reader has left');
  });
});

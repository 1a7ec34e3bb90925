import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { blocksOf, plansOf, waysInto } from '../../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type Database } from '../database/database.js';
import { loadSql } from '../database/load-sql.js';
import { OperatorActions } from './operator-actions.js';

const DAY_MS = 86_400_000;

let open: OpenDatabase;
beforeAll(async () => {
  open = await openTestDatabase([], { poolSize: 1 });
});
afterAll(() => open.close());

it('OperatorActions deletes actions older than a year in batches, by the index on their time', async () => {
  await open.database.query(
    `insert into operator_action (at, actor, action, target)
     select now() - n * interval '1 hour', 'an operator', 'dlq.discard', n::text
     from generate_series(1, 20000) n`,
  );
  await open.database.query('vacuum analyze operator_action');
  const { text } = loadSql(import.meta.url, './purge-actions.sql');
  for (const plan of await plansOf(open.database, text, [365 * DAY_MS, 10]))
    expect(waysInto('operator_action', plan)).toEqual(['operator_action_at', 'operator_action_pkey']);
  expect(await new OperatorActions(open.database).purge(365 * DAY_MS)).toBe(20_000 - 365 * 24 + 1);
  expect(await new OperatorActions(open.database).purge(365 * DAY_MS)).toBe(0);
});

describe('with 100,000 actions of ten operators, one of them rare', () => {
  let actions: OperatorActions;
  const queried: Array<{ readonly text: string; readonly values: readonly unknown[] }> = [];

  beforeAll(async () => {
    await open.database.query('truncate operator_action restart identity');
    await open.database.query(
      `insert into operator_action (actor, action, target, detail)
       select
         case when n % 20000 = 0 then 'rare' else 'operator ' || n % 9 end,
         (array['dlq.replay', 'dlq.discard'])[1 + n % 2],
         n::text,
         '{"n": 1}'
       from generate_series(1, 100000) n`,
    );
    await open.database.query('vacuum analyze operator_action');
    const { database } = open;
    const recording = {
      query: (text: string, values: readonly unknown[]) => {
        queried.push({ text, values });
        return database.query(text, values);
      },
    };
    actions = new OperatorActions(recording as unknown as Database);
  });

  it('OperatorActions lists actions newest first by pages, without a gap and without a repetition', async () => {
    const first = await actions.list({ limit: 2 });
    const second = await actions.list({ limit: 2, cursor: Number(first.next_cursor) });
    expect([...first.items, ...second.items].map(({ target }) => target)).toEqual([
      '100000',
      '99999',
      '99998',
      '99997',
    ]);
    expect(first.items[0]).toMatchObject({ actor: 'rare', action: 'dlq.replay', detail: { n: 1 } });
  });

  it('OperatorActions filters by actor and by action, up to the last page', async () => {
    const rare = await actions.list({ actor: 'rare', limit: 3 });
    const rest = await actions.list({ actor: 'rare', limit: 3, cursor: Number(rare.next_cursor) });
    expect([...rare.items, ...rest.items].map(({ target }) => target)).toEqual([
      '100000',
      '80000',
      '60000',
      '40000',
      '20000',
    ]);
    expect(rest.next_cursor).toBeNull();
    const { items } = await actions.list({ actor: 'operator 1', action: 'dlq.discard', limit: 200 });
    expect(items).toHaveLength(200);
    expect(new Set(items.map(({ actor, action }) => `${actor} ${action}`))).toEqual(
      new Set(['operator 1 dlq.discard']),
    );
    expect((await actions.list({ action: 'no such action', limit: 1 })).items).toEqual([]);
  });

  it('OperatorActions tells reads of athletes’ data from actions, also if nearly all rows are reads', async () => {
    await open.database.query(
      `insert into operator_action (actor, action, target, detail)
       select 'reader', 'athlete.request', n::text, jsonb_build_object('method', case when n = 10 then 'POST' else 'GET' end)
       from generate_series(1, 2000) n`,
    );
    await open.database.query('vacuum analyze operator_action');
    const targetsOf = async (kind: 'action' | 'read') =>
      (await actions.list({ kind, limit: 2 })).items.map(({ target }) => target);
    expect(await targetsOf('action')).toEqual(['10', '100000']);
    expect(await targetsOf('read')).toEqual(['2000', '1999']);
    expect((await actions.list({ kind: 'read', actor: 'rare', limit: 2 })).items).toEqual([]);
  });

  it('each list of actions reads few blocks by an index', async () => {
    expect(queried.length).toBeGreaterThan(4);
    for (const { text, values } of queried) {
      // An unprepared statement is planned for its values.
      const [plan] = await plansOf(open.database, text, values);
      expect(waysInto('operator_action', plan!)).not.toContain('all of operator_action');
      expect(blocksOf(plan!)).toBeLessThan(300);
    }
  });
});

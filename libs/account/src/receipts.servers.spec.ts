import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { Receipts } from './receipts.js';

describe('the list of receipts of all athletes', () => {
  let open: OpenDatabase;
  let receipts: Receipts;
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 });
    receipts = new Receipts(open.database);
  });
  afterAll(() => open.close());

  it('lists receipts newest first, page by page, and those of one athlete', async () => {
    const ids: string[] = [];
    const athlete = randomUUID();
    for (let n = 0; n < 5; n += 1) ids.push(await receipts.open(n < 2 ? athlete : randomUUID()));
    // A second request for the same account gets the receipt that is open.
    expect(ids[1]).toBe(ids[0]);
    const newest = [...new Set(ids)].reverse();
    const first = await receipts.page({ limit: 3 });
    const rest = await receipts.page({ limit: 3, cursor: first.next_cursor! });
    expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(newest);
    expect(rest.next_cursor).toBeNull();
    const [own, ...others] = (await receipts.page({ limit: 3, athleteId: athlete })).items;
    expect(own).toMatchObject({ id: ids[0], athlete_id: athlete, what: 'account', status: 'pending' });
    expect(others).toEqual([]);
  });

  it('a page of 100,000 receipts is read by an index, without a sort', async () => {
    await open.database.query(
      `insert into receipt (athlete_id, reason, requested_at, completed_at)
       select gen_random_uuid(), 'requested', now() - n * interval '1 minute', now() from generate_series(1, 100000) n`,
    );
    await open.database.query('vacuum analyze receipt');
    const before = await blocksRead();
    expect((await receipts.page({ limit: 50 })).items).toHaveLength(50);
    expect((await blocksRead()) - before).toBeLessThan(200);
  });

  /** Blocks that statements have read of the table; indexes are not counted. */
  async function blocksRead(): Promise<number> {
    await open.database.query('select pg_stat_force_next_flush()');
    const { rows } = await open.database.query<{ blocks: string }>(
      `select heap_blks_read + heap_blks_hit as blocks from pg_statio_user_tables where relname = 'receipt'`,
    );
    return Number(rows[0]!.blocks);
  }
});

import { type Sql, type Statement } from './database.js';

const DELETED_AT_ONCE = 5_000;

/** Deletes rows older than `keptMs` in batches, and returns how many. In the statement, `$1` is `keptMs` and `$2` is the batch size. */
export function deletePast(
  sql: Sql,
  statement: Statement,
  keptMs: number,
  size = DELETED_AT_ONCE,
): Promise<number> {
  return inBatches(size, async (limit) => (await sql.query(statement, [keptMs, limit])).count);
}

/**
 * Repeats a statement that deletes at most `size` rows, until it deletes fewer than `size`. Returns the number of all deleted rows. The
 * batches keep a large deletion from running one long statement, holding many locks, or filling the write-ahead log at once.
 */
export async function inBatches(
  size: number,
  deleteSome: (limit: number) => Promise<number>,
): Promise<number> {
  let deleted = 0;
  for (;;) {
    const count = await deleteSome(size);
    deleted += count;
    if (count < size) return deleted;
  }
}

const EXACT_UP_TO = 1_000;

/**
 * Counts the rows of a table that fulfil a condition. Up to 1,000 rows, the count is exact. Above 1,000, it is the planner's estimate: the
 * planner applies the share in the last ANALYZE's sample of 30,000 rows to the present size of the table. If autovacuum runs, the estimate
 * is a few percent off. The function takes the same time for any number of rows.
 *
 * `table` and `condition` become part of the statement, so they must never come from a request.
 */
export async function roughCount(sql: Sql, table: string, condition: string): Promise<number> {
  const limited = `select 1 from ${table} where ${condition} limit ${EXACT_UP_TO + 1}`;
  const { rows } = await sql.query<{ count: number }>(
    `select count(*)::int as count from (${limited}) counted`,
  );
  const count = rows[0]?.count ?? 0;
  if (count <= EXACT_UP_TO) return count;
  return Math.max(count, await estimate(sql, `select 1 from ${table} where ${condition}`));
}

async function estimate(sql: Sql, statement: string): Promise<number> {
  type Plan = { readonly 'QUERY PLAN': ReadonlyArray<{ readonly Plan: { readonly 'Plan Rows': number } }> };
  const { rows } = await sql.query<Plan>(`explain (format json) ${statement}`);
  return rows[0]?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0;
}

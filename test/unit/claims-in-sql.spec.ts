import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

/** The text before the parenthesis that encloses this position; undefined if none does. */
function beforeEnclosing(sql: string, position: number): string | undefined {
  let depth = 0;
  for (let at = position; at >= 0; at -= 1) {
    if (sql[at] === ')') depth += 1;
    if (sql[at] === '(' && (depth -= 1) < 0) return sql.slice(0, at).trimEnd();
  }
  return undefined;
}

// Postgres may run a subquery in FROM or IN once for each row of a join. With LIMIT and SKIP LOCKED each run locks another row, so one
// claim would take several rows and return only the first. A common table expression that locks rows runs once, and `= (select …)` as well.
it('every claim with SKIP LOCKED locks its rows in a part that Postgres runs once', () => {
  const files = readdirSync('libs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .map((file) => `libs/${file}`);
  const claims = files.filter((file) => readFileSync(file, 'utf8').includes('skip locked'));
  expect(claims.length).toBeGreaterThan(8);
  const inSubqueries = claims.filter((file) => {
    const sql = readFileSync(file, 'utf8').replaceAll(/--.*$/gm, '');
    return [...sql.matchAll(/skip locked/g)].some(({ index }) => {
      const before = beforeEnclosing(sql, index);
      return before !== undefined && !/(\bas( materialized)?|=)$/.test(before);
    });
  });
  expect(inSubqueries).toEqual([]);
});

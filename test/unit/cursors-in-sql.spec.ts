import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

// Postgres uses one plan for all values of a prepared statement that runs often. In this plan a condition that a null switches off is no range
// of an index: a page from the middle of a list would read all rows before it.
it('no statement makes the cursor of a list optional by a condition with null', () => {
  const files = readdirSync('libs', { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!spec)\.(ts|sql)$/.test(file))
    .map((file) => `libs/${file}`);
  const lists = files.filter((file) => /\(\w+, \w+\) < \(/.test(readFileSync(file, 'utf8')));
  expect(lists.length).toBeGreaterThan(4);
  const switched = lists.filter((file) => /is null\s+or \(\w+, \w+\) [<>]/.test(readFileSync(file, 'utf8')));
  expect(switched).toEqual([]);
});

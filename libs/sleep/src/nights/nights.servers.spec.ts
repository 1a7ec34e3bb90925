import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { blocksOf, plansOf } from '../../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { listNights } from './nights.js';

const NIGHTS = 10_000;
// A row is read from the index and from the table; the 10,000 rows have more than 90 pages.
const MOST_BLOCKS = 20;

let open: OpenDatabase;
beforeAll(async () => {
  open = await openTestDatabase();
  await open.database.query(
    `insert into sleep_data (user_id, date, duration_minutes, vendor, captured_at, event_id)
     select 'ann', date '2026-11-18' - n, 400, 'oura', now(), n from generate_series(1, $1::int) n`,
    [NIGHTS],
  );
  await open.database.query('vacuum analyze sleep_data');
});
afterAll(() => open.close());

it.each([
  ['the first', null],
  ['the middle', '2013-03-11'],
])(
  'a list of nights reads no more than %s page of them, whatever the length of the history',
  async (_, cursor) => {
    for (const plan of await plansOf(open.database, listNights.text, ['ann', null, null, cursor, 51]))
      expect(blocksOf(plan)).toBeLessThan(MOST_BLOCKS);
  },
);

import { type Database, type Statement } from './database.js';
import { InvalidInput } from '../errors/app-error.js';

/** The sort key of a page's last row. The next page begins after this row. */
export interface Keyset {
  /** A time with microseconds, which a Date cannot hold: `2026-11-18T08:00:00.000001Z`. */
  readonly place: string;
  readonly id: string;
}

const KEYSET =
  /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

export function cursorAt({ place, id }: Keyset): string {
  return Buffer.from(`${place} ${id}`).toString('base64url');
}

/** Parses a cursor of `cursorAt`; throws InvalidInput for any other text. */
export function keysetOf(cursor: string): Keyset {
  const [, place, id] = KEYSET.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (!place || !id || !isMoment(place))
    throw new InvalidInput(['cursor: must be a next_cursor of an earlier answer']);
  return { place, id };
}

/** False for dates that do not exist, such as 30 February. */
function isMoment(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 19) === text.slice(0, 19);
}

interface PageOptions<Key extends string> {
  readonly athleteId: string;
  /** The column that the statement sorts by; it must be selected and unique. */
  readonly by: Key;
  /** The most rows of a page. */
  readonly size: number;
}

/**
 * Yields an athlete's rows by pages. In the statement, `$1` is the athlete, `$2` is the last key of the previous page (null for the first
 * page), and `$3` is the size.
 */
export async function* pagesOf<Row extends Readonly<Record<Key, string>>, Key extends string>(
  database: Database,
  statement: Statement | string,
  { athleteId, by, size }: PageOptions<Key>,
): AsyncGenerator<readonly Row[]> {
  let after: string | null = null;
  for (;;) {
    const { rows }: { rows: Row[] } = await database.query<Row>(statement, [athleteId, after, size]);
    if (rows.length === 0) return;
    yield rows;
    after = (rows.at(-1) as Row)[by];
  }
}

const PAGE_BYTES = 1_000_000;

/**
 * The same for rows that may be large. The statement also selects `bytes`, the size of a row, which is not yielded. A page ends with the row
 * that brings it to a megabyte. Postgres reads up to `size` rows for each page.
 */
export async function* pagesByBytes<Key extends string>(
  database: Database,
  statement: string,
  options: PageOptions<Key>,
): AsyncGenerator<readonly object[]> {
  type Row = Readonly<Record<Key, string>> & { readonly bytes: number; readonly bytes_before: string };
  const { by } = options;
  const cut = `
    select *
    from (select page.*, sum(bytes) over (order by ${by}) - bytes as bytes_before from (${statement}) as page) as summed
    where bytes_before < ${PAGE_BYTES}
    order by ${by}`;
  for await (const page of pagesOf<Row, Key>(database, cut, options))
    yield page.map(({ bytes: _bytes, bytes_before: _before, ...row }) => row);
}

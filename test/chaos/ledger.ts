import { type Pool } from 'pg';

/** The oracle: a trigger writes each change into the ledger in the transaction that makes it, and nothing of the product touches that table. */
const LEDGER = `
  create table ledger (id uuid primary key, athlete_id uuid, at timestamptz default clock_timestamp());
  create function note_in_ledger() returns trigger language plpgsql as $$
  begin
    insert into ledger (id, athlete_id) select id, athlete_id from made;
    return null;
  end
  $$;
  create trigger ledger after insert on change_outbox
  referencing new table as made
  for each statement execute function note_in_ledger();`;

/** How one reader got the committed changes. */
export interface Verdict {
  readonly reader: string;
  readonly arrived: number;
  /** Committed, and never arrived. */
  readonly lost: number;
  /** Arrived again under the same id. */
  readonly doubled: number;
  /** Arrived, and was never committed. */
  readonly invented: number;
  /** Changes of a subject that came after one with a greater or the same revision, or that have another place than in the log. */
  readonly disordered: number;
}

export async function openLedger(pool: Pool): Promise<void> {
  await pool.query(LEDGER);
}

export async function committedIds(pool: Pool): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>('select id from ledger');
  return new Set(rows.map(({ id }) => id));
}

/**
 * Committed changes that a deletion has taken back: those that the log had got are erased in it, and those that still waited for their place
 * in it are gone.
 */
export async function withdrawnIds(pool: Pool): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from change where type = 'erased'
     union all
     select id from ledger
     where not exists (select from change where change.id = ledger.id)
       and not exists (select from change_outbox where change_outbox.id = ledger.id)
       and exists (
         select from receipt
         where receipt.athlete_id = ledger.athlete_id and ledger.at <= coalesce(rows_deleted_at, 'infinity')
       )`,
  );
  return new Set(rows.map(({ id }) => id));
}

export async function logOf(pool: Pool): Promise<string[]> {
  return (await pool.query<{ id: string }>('select id from change order by seq')).rows.map(({ id }) => id);
}

/** A change as a reader got it. */
export interface Arrival {
  readonly id: string;
  readonly subject: string;
  readonly revision: number;
}

/** Compares id by id. `log`: the order that the reader promises; undefined if it promises none. */
export function judge(
  reader: string,
  arrivals: readonly Arrival[],
  committed: ReadonlySet<string>,
  log?: readonly string[],
): Verdict {
  const counts = new Map<string, number>();
  for (const { id } of arrivals) counts.set(id, (counts.get(id) ?? 0) + 1);
  const ids = [...counts.keys()];
  return {
    reader,
    arrived: counts.size,
    lost: [...committed].filter((id) => !counts.has(id)).length,
    doubled: arrivals.length - counts.size,
    invented: ids.filter((id) => !committed.has(id)).length,
    disordered: log ? misplaced(ids, log) + shrunken(arrivals) : 0,
  };
}

const misplaced = (ids: readonly string[], log: readonly string[]) =>
  ids.filter((id, place) => id !== log[place]).length;

function shrunken(arrivals: readonly Arrival[]): number {
  const newest = new Map<string, number>();
  let count = 0;
  for (const { subject, revision } of arrivals) {
    if (revision <= (newest.get(subject) ?? 0)) count += 1;
    newest.set(subject, revision);
  }
  return count;
}

import { Injectable } from '@nestjs/common';
import { type ChangeType, Database, prepared, Turns } from '#platform';
import { CHANGE_COLUMNS, type Change, ERASED } from '../change.js';
import { ChangeNews } from '../change-news.js';
import { BEGINNING, CursorExpired, type Place, placeAt } from './cursor.js';

/** Undefined: of all athletes. */
type AthleteId = string | undefined;

/** The changes that a reader wants. */
export interface Selection {
  readonly athleteId: AthleteId;
  /** Undefined: all types. */
  readonly types: readonly ChangeType[] | undefined;
}

export interface PageQuery extends Selection {
  /** Undefined: the oldest change that is kept. */
  readonly after: Place | undefined;
  readonly limit: number;
}

export interface Page {
  readonly items: readonly Change[];
  /** The page has looked at all changes before this place. */
  readonly next: Place;
  /** Also true if the page has looked at many changes and found few or none that are wanted. */
  readonly hasMore: boolean;
}

/** A change without its data. */
interface ChangeName {
  readonly type: string;
  readonly athlete_id: string;
  readonly subject_id: string;
  readonly revision: number;
}

// A page that finds few changes of its types looks at no more than this many, some 20 ms of work.
const LOOKED_AT = 10_000;
// One batch takes some 50 ms, so that a request is answered in time however many changes wait.
const SEQUENCED_BATCHES = 1;

// One change may wake thousands of readers. The pool has ten connections, and other requests need some of them.
export const READS_AT_ONCE = 4;

/** Reads pages of the log of changes. */
@Injectable()
export class ChangeFeed {
  private readonly turns = new Turns(READS_AT_ONCE);
  private reads = 0;

  constructor(
    private readonly database: Database,
    private readonly news: ChangeNews,
  ) {}

  /** Throws CursorExpired. Rejects with the signal's reason if the reader leaves before its turn: then nothing is read. */
  page(query: PageQuery, signal?: AbortSignal): Promise<Page> {
    // The reads of one athlete run one after the other. Reads of backends have no such limit.
    const owner = query.athleteId ?? `all ${(this.reads += 1)}`;
    return this.turns.run(owner, () => this.read(query), signal);
  }

  private async read({ athleteId, types, after, limit }: PageQuery): Promise<Page> {
    await this.news.sequence(SEQUENCED_BATCHES);
    // One change more than the limit shows whether there are more.
    const values = [after?.seq ?? null, types ?? null, limit + 1, LOOKED_AT];
    const { rows } = await (athleteId === undefined
      ? this.database.query<PageRow>(pageOfAll, values)
      : this.database.query<PageRow>(pageOfAthlete, [...values, athleteId]));
    const [bounds] = rows as [PageRow, ...PageRow[]];
    assertValid(after, bounds);
    const found = rows.filter(({ seq }) => seq !== null) as readonly Change[];
    const items = found.slice(0, limit);
    const last = items.at(-1);
    if (last && found.length > limit) return { items, next: placeAt(last), hasMore: true };
    return { items, next: endOf(bounds, after), hasMore: Number(bounds.end_seq) < Number(bounds.last_seq) };
  }

  /** The changes between two places, without their data. At most `limit` changes, oldest first. */
  async names(after: Place, upTo: Place, limit: number): Promise<ChangeName[]> {
    const { rows } = await this.database.query<ChangeName>(namesBetween, [after.seq, upTo.seq, limit]);
    return rows;
  }

  /** The place after the newest change. */
  async head(): Promise<Place> {
    await this.news.sequence(SEQUENCED_BATCHES);
    const { rows } = await this.database.query<{ seq: string; id: string | null }>(headOfLog);
    return rows[0] ? placeAt(rows[0]) : BEGINNING;
  }
}

const headOfLog = prepared(
  'head of changes',
  'select last_seq as seq, coalesce((select id from change where seq = last_seq), purged_id) as id from change_feed',
);

const namesBetween = prepared(
  'names of changes',
  `
    select type, athlete_id, subject_id, revision::float8 as revision
    from change
    where seq > $1
      and seq <= $2
      and type <> '${ERASED}'
    order by seq
    limit $3`,
);

interface Bounds {
  readonly last_seq: string;
  readonly purged_seq: string;
  readonly purged_id: string | null;
  /** Null: the change was purged, or never existed. */
  readonly after_id: string | null;
  readonly end_seq: string;
  readonly end_id: string | null;
}

type PageRow = Bounds & (Change | Readonly<Record<keyof Change, null>>);

/**
 * A page and its bounds in one statement, so that a change that is purged meanwhile is not passed over. `end` is the last seq that the page
 * looks at; null means the end of the log. For all athletes it is a sum, because seqs have no gaps. Without changes there is one row with null
 * columns. `limit 1` says that `change_feed` has one row: without statistics Postgres expects 1,330 and compiles the plan, which takes 100 ms.
 */
const pageStatement = (name: string, end: string, isWanted: string) =>
  prepared(
    name,
    `
      with start as materialized (
        select last_seq, purged_seq, purged_id, coalesce($1::bigint, purged_seq) as after
        from change_feed
        limit 1
      ), bounds as materialized (
        select
          last_seq, purged_seq, purged_id, after,
          least(last_seq, ${end}) as end_seq
        from start
      ), items as (
        select ${CHANGE_COLUMNS}
        from change
        where change.seq > (select after from bounds)
          and change.seq <= (select end_seq from bounds)
          and type <> '${ERASED}'
          and ($2::text[] is null or type = any($2))
          and ${isWanted}
        order by change.seq
        limit $3
      )
      select
        bounds.last_seq, bounds.purged_seq, bounds.purged_id, bounds.end_seq,
        (select change.id from change where change.seq = bounds.after) as after_id,
        (select change.id from change where change.seq = bounds.end_seq) as end_id,
        items.*
      from bounds
      left join items on true
      order by items.seq`,
  );

const pageOfAll = pageStatement('changes of all', 'after + $4::bigint', 'true');
const pageOfAthlete = pageStatement(
  'changes of an athlete',
  // Without types, the index finds only wanted changes.
  `case when $2::text[] is not null
    then (select seq from change where athlete_id = $5 and seq > after order by seq offset $4::bigint - 1 limit 1) end`,
  'athlete_id = $5',
);

function assertValid(after: Place | undefined, bounds: Bounds): void {
  if (!after) return;
  const purged = placeAt({ seq: bounds.purged_seq, id: bounds.purged_id });
  const known =
    after.seq === purged.seq ? purged : bounds.after_id && placeAt({ seq: after.seq, id: bounds.after_id });
  if (!known || known.mark !== after.mark) throw new CursorExpired(purged);
}

/** The end may be the reader's own cursor, or the newest change that is purged. */
function endOf({ end_seq, end_id, purged_seq, purged_id }: Bounds, after: Place | undefined): Place {
  if (after && Number(end_seq) <= after.seq) return after;
  return placeAt(end_id === null ? { seq: purged_seq, id: purged_id } : { seq: end_seq, id: end_id });
}

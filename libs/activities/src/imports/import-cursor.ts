import { type ActivityPage } from '#vendors';
import { type ListPosition } from '../list-position.js';

/** Progress of an import, stored in the same transaction as the rows that the numbers count. */
export interface ImportCursor {
  readonly phase: 'summaries' | 'details' | 'photos';
  /** Unix seconds: older activities have not been listed yet. */
  readonly before: number | null;
  /** Absent in imports that began before this field existed. */
  readonly page?: number;
  /** Pages of the list that the import has requested. Absent: none, or the import began before this field existed. */
  readonly pages_listed?: number;
  readonly activities_imported: number;
  readonly photos_imported: number;
  readonly last_activity_id: string | null;
  /** Listed activities that cannot be parsed and have no row. Absent: none. */
  readonly unreadable?: number;
}

export const beginning: ImportCursor = {
  phase: 'summaries',
  before: null,
  page: 1,
  activities_imported: 0,
  photos_imported: 0,
  last_activity_id: null,
};

export const positionOf = ({ before, page = 1 }: ImportCursor): ListPosition => ({ before, page });

/** Counts the unreadable activities of a page, except those of the previous page: pages overlap by one second. */
export function unreadableIn({ unreadable }: ActivityPage, { before }: ListPosition, since: Date | null) {
  return unreadable.filter(({ startTime }) => {
    if (!startTime) return true;
    const isRepeated = before !== null && Math.floor(startTime.getTime() / 1_000) === before - 1;
    return !isRepeated && (!since || startTime >= since);
  }).length;
}

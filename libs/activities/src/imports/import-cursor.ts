/** How far an import is. Kept with the rows it speaks of, in the same transaction. */
export interface ImportCursor {
  readonly phase: 'summaries' | 'details' | 'photos';
  /** Unix seconds: what is older than this has not been listed yet. */
  readonly before: number | null;
  readonly activities_imported: number;
  readonly photos_imported: number;
  readonly last_activity_id: string | null;
}

export const beginning: ImportCursor = {
  phase: 'summaries',
  before: null,
  activities_imported: 0,
  photos_imported: 0,
  last_activity_id: null,
};

/** A page may end within a second in which more than one activity began; asking from one second later finds them all. */
export function beforeOfNextPage(oldestStart: Date, before: number | null): number {
  const oldest = Math.floor(oldestStart.getTime() / 1_000);
  const withItself = oldest + 1;
  // A whole page of one second would otherwise be asked for for ever.
  return before !== null && withItself >= before ? oldest : withItself;
}

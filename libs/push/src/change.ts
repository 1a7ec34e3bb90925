/** A row of the log of changes. */
export interface Change {
  /** The place in the log. */
  readonly seq: string;
  readonly id: string;
  readonly revision: string;
  readonly type: string;
  readonly athlete_id: string;
  readonly subject_id: string;
  readonly occurred_at: string;
  /** JSON, sent as it is stored. */
  readonly data: string | null;
}

/** The columns of a `Change`. */
export const CHANGE_COLUMNS =
  'change.seq, change.id, change.revision, change.type, change.athlete_id, change.subject_id, api_time(change.occurred_at) as occurred_at, change.data::text as data';

/** The type of a row whose change a deletion has deleted. The row stays, because cursors point at it; readers skip it. */
export const ERASED = 'erased';

/** The change as every app gets it: in the feed, in an event stream, from NATS and by a webhook. */
export function changeText({
  id,
  type,
  athlete_id,
  subject_id,
  revision,
  occurred_at,
  data,
}: Change): string {
  return `{"id":"${id}","type":"${type}","athlete_id":"${athlete_id}","subject_id":${JSON.stringify(subject_id)},"revision":${revision},"occurred_at":"${occurred_at}","data":${data ?? 'null'}}`;
}

/** The title and description of an activity. */
interface ActivityText {
  readonly name: string;
  readonly description: string | null;
}

type TextAuthor =
  /** The imported title, without a description. */
  | 'untouched'
  /** The text that we would write: an earlier call has arrived, although its answer was lost. */
  | 'ours'
  /** The athlete has changed the title or the description. */
  | 'theirs';

/** The author of the vendor's present text. If the athlete has changed either title or description, both count as the athlete's. */
export function authorOf(atVendor: ActivityText, imported: string | null, ours: ActivityText): TextAuthor {
  const description = textOf(atVendor.description);
  if (atVendor.name === ours.name && description === textOf(ours.description)) return 'ours';
  return atVendor.name === imported && description === '' ? 'untouched' : 'theirs';
}

function textOf(description: string | null): string {
  return description?.trim() ?? '';
}

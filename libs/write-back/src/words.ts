/** What an activity is called and what is said of it. */
export interface Words {
  readonly name: string;
  readonly description: string | null;
}

export type Found =
  /** As it was imported, without a description. */
  | 'untouched'
  /** What we would write: an earlier call has arrived, whatever became of its answer. */
  | 'ours'
  /** A person has chosen the words. */
  | 'theirs';

/** Whose words the vendor has at this moment. One word of a person's is enough to leave all as it is. */
export function whoseWords(atVendor: Words, imported: string | null, ours: Words): Found {
  const description = textOf(atVendor.description);
  if (atVendor.name === ours.name && description === textOf(ours.description)) return 'ours';
  return atVendor.name === imported && description === '' ? 'untouched' : 'theirs';
}

function textOf(description: string | null): string {
  return description?.trim() ?? '';
}

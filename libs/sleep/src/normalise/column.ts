// Columns of a batch as parameters. node-postgres asks every element of an array what it is and escapes it, which costs more than
// the statement; JSON has a quote at every turn.

/** Stands in no text of ours: names may not have control characters, and JSON escapes them. */
const BETWEEN = '\u001e';

/** For `string_to_array($n, chr(30), '')`: an empty one is null. */
export function texts(values: ReadonlyArray<string | null>): string {
  return values.join(BETWEEN);
}

/** An array literal. */
export function numbers(values: ReadonlyArray<number | bigint | boolean | null>): string {
  return `{${values.map((value) => (value === null ? 'null' : String(value))).join(',')}}`;
}

/** An array literal of what needs no quotes: dates, and words of our own. */
export function words(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}

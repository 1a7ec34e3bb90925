/** Search parameters are plain strings, so that a deep link can be read and written by hand. */
export type Search = Record<string, string | undefined>;

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

export function formatSearch(search: Record<string, unknown>): string {
  const pairs = Object.entries(search).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string' && pair[1] !== '',
  );
  const text = new URLSearchParams(pairs).toString();
  return text && `?${text}`;
}

/** A parameter that may hold any text; undefined if it is absent or empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A parameter that must be one of `options`; undefined if it is absent or something else. */
export function optionOf<Option extends string>(
  value: unknown,
  options: readonly Option[],
): Option | undefined {
  return options.find((option) => option === value);
}

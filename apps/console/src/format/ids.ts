const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
// The first letters tell the ids of one list apart.
const SHOWN = 8;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** `31db0ef7-800a-…` → `31db0ef7`. */
export function shortId(id: string): string {
  return id.slice(0, SHOWN);
}

/** Shortens a UUID, which no person reads whole, and returns any other name unchanged. */
export function shortName(name: string): string {
  return isUuid(name) ? shortId(name) : name;
}

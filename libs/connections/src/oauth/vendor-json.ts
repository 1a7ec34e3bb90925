// A string, or a number: what is inside a string is skipped as a whole.
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LARGE_INTEGER = /^-?\d{16,}$/;

/** JSON whose integers beyond 2^53 keep their digits, as strings. Undefined where it is not JSON. */
export function parseVendorJson(body: Buffer): unknown {
  const text = body
    .toString('utf8')
    .replace(STRING_OR_NUMBER, (token) => (LARGE_INTEGER.test(token) ? `"${token}"` : token));
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

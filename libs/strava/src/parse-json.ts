// A string, skipped as a whole (to the end of the text where it does not end), or a number.
const TOKENS = /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;
const COLON = /\s*:/y;
const MAYBE_LARGE = /\d{16}/;
// What Postgres cannot store (NUL, half of a surrogate pair), or what would be a prototype, in any spelling.
const MAYBE_HARMFUL = /__proto__|\\u(?:005f|0000|d[89a-f])/i;
const DEEPEST = 64;

/**
 * JSON of somebody else's. Integers that a number cannot hold become strings with all their digits; keys and characters that
 * could do harm further on are dropped. Throws a SyntaxError.
 */
export function parseJson(text: string): unknown {
  const exact = MAYBE_LARGE.test(text) ? withLargeIntegersQuoted(text) : text;
  const value: unknown = MAYBE_HARMFUL.test(text) ? JSON.parse(exact, harmless) : JSON.parse(exact);
  // Whoever stores it again writes it recursively.
  if (isDeeperThan(value, DEEPEST)) throw new SyntaxError(`more than ${DEEPEST} levels deep`);
  return value;
}

function withLargeIntegersQuoted(text: string): string {
  return text.replace(TOKENS, (token, at: number) => {
    if (!INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token;
    // A number where a key should be stays the mistake that it is.
    COLON.lastIndex = at + token.length;
    return COLON.test(text) ? token : `"${token}"`;
  });
}

function harmless(key: string, value: unknown): unknown {
  if (key === '__proto__' || !isStorable(key)) return undefined;
  return typeof value === 'string' ? storable(value) : value;
}

// With the flag u a whole pair is no surrogate.
const storable = (text: string) => text.replace(/\0|\p{Surrogate}/gu, '');
const isStorable = (text: string) => text === storable(text);

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}

// Matches a string or a number. A string is matched as a whole, so that digits inside it are skipped. An unterminated string ends with the
// text.
const TOKENS = /"[^"\\]*(?:\\[^][^"\\]*)*(?:"|\\?$)|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;
const COLON = /\s*:/y;
const MAYBE_LARGE = /\d{16}/;
// Characters that Postgres cannot store (NUL, half of a surrogate pair), and a key that could set a prototype, escaped or not.
const MAYBE_HARMFUL = /__proto__|\\u(?:005f|0000|d[89a-f])/i;
const MAX_DEPTH = 64;

/**
 * Parses untrusted JSON. Integers beyond 2^53 become strings with all their digits. Drops `__proto__` keys, and characters that Postgres
 * cannot store. Throws a SyntaxError.
 */
export function parseJson(text: string): unknown {
  const exact = MAYBE_LARGE.test(text) ? withLargeIntegersQuoted(text) : text;
  const value: unknown = MAYBE_HARMFUL.test(text) ? JSON.parse(exact, withoutHarmful) : JSON.parse(exact);
  // JSON.stringify is recursive: a deeper value could overflow the stack when it is stored.
  if (isDeeperThan(value, MAX_DEPTH)) throw new SyntaxError(`more than ${MAX_DEPTH} levels deep`);
  return value;
}

function withLargeIntegersQuoted(text: string): string {
  return text.replace(TOKENS, (token, at: number) => {
    if (!INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token;
    // A number in the place of a key stays unquoted, so that JSON.parse rejects it.
    COLON.lastIndex = at + token.length;
    return COLON.test(text) ? token : `"${token}"`;
  });
}

function withoutHarmful(key: string, value: unknown): unknown {
  if (key === '__proto__' || !isStorable(key)) return undefined;
  return typeof value === 'string' ? storable(value) : value;
}

// With the flag `u`, \p{Surrogate} matches only half pairs.
const storable = (text: string) => text.replace(/\0|\p{Surrogate}/gu, '');
const isStorable = (text: string) => text === storable(text);

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}

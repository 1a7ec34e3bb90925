import { InvalidInput } from '#platform';

const LONGEST = 2_048;
// Browsers read a backslash as a slash and drop tabs and line ends, so what looks like a path may name a host.
const AMBIGUOUS = /[\\\s\p{Cc}]/u;
// Servers differ in whether they decode these before they look at the path.
const ENCODED_SEPARATOR = /%(2f|5c)/i;

/** The URL in its normal form, if it is on the list: the same origin, and the path at or below the listed one. */
export function checkedReturnUrl(text: string, allowed: readonly string[]): string {
  const problem = (what: string) => new InvalidInput([`return_url: ${what}`]);
  if (text.length > LONGEST) throw problem(`must have at most ${LONGEST} characters`);
  if (AMBIGUOUS.test(text) || !URL.canParse(text)) throw problem('must be an absolute URL');
  const url = new URL(text);
  if (url.username || url.password) throw problem('must not hold a user name or password');
  if (!allowed.some((entry) => covers(new URL(entry), url)))
    throw problem('is not on the list of RETURN_URLS');
  return url.href;
}

function covers(listed: URL, url: URL): boolean {
  // An origin is compared as a whole: `https://good.example` is no prefix of `https://good.example.evil.com`.
  if (url.origin !== listed.origin || ENCODED_SEPARATOR.test(url.pathname)) return false;
  const path = listed.pathname.replace(/\/+$/, '');
  return url.pathname === path || url.pathname.startsWith(`${path}/`);
}

/** Adds to the query what is to be told; what the URL brought along stays, and nothing it brought passes for our word. */
export function withAnswer(returnUrl: string, answer: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(returnUrl);
  for (const [name, value] of Object.entries(answer)) {
    url.searchParams.delete(name);
    if (value !== undefined) url.searchParams.append(name, value);
  }
  return url.href;
}

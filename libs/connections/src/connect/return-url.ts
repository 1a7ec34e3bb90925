import { InvalidInput } from '#platform';

const MAX_LENGTH = 2_048;
// Browsers read a backslash as a slash and drop tabs and line ends, so that a part of the path may become the host.
const AMBIGUOUS = /[\\\s\p{Cc}]/u;
// Some servers decode %2F and %5C before they resolve `..`, so that the path may leave the listed path.
const ENCODED_SEPARATOR = /%(2f|5c)/i;

/**
 * Returns the URL in its normal form if its origin is that of a listed URL and its path is at or below the listed path. Throws
 * InvalidInput otherwise.
 */
export function checkedReturnUrl(text: string, allowed: readonly string[]): string {
  const problem = (reason: string) => new InvalidInput([`return_url: ${reason}`]);
  if (text.length > MAX_LENGTH) throw problem(`must have at most ${MAX_LENGTH} characters`);
  if (AMBIGUOUS.test(text) || !URL.canParse(text)) throw problem('must be an absolute URL');
  const url = new URL(text);
  if (url.username || url.password) throw problem('must not hold a user name or password');
  if (!allowed.some((entry) => covers(new URL(entry), url)))
    throw problem('is not on the list of RETURN_URLS');
  return url.href;
}

function covers(listed: URL, url: URL): boolean {
  // Origins are compared as a whole: `https://good.example` must not match `https://good.example.evil.com`.
  if (url.origin !== listed.origin || ENCODED_SEPARATOR.test(url.pathname)) return false;
  const path = listed.pathname.replace(/\/+$/, '');
  return url.pathname === path || url.pathname.startsWith(`${path}/`);
}

/** Sets these query parameters and keeps others. A parameter of the same name is replaced, so that a client cannot forge a result. */
export function withAnswer(returnUrl: string, answer: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(returnUrl);
  for (const [name, value] of Object.entries(answer)) {
    url.searchParams.delete(name);
    if (value !== undefined) url.searchParams.append(name, value);
  }
  return url.href;
}

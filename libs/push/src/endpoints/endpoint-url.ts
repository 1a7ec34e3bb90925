import { isPrivateLiteral } from '#platform';

const LONGEST_URL = 2_000;
const HTTPS_PORT = '443';
// Below it are services such as mail and SSH, which must not get connections from here at anybody's request.
const LOWEST_OPEN_PORT = 1_024;
const LOCAL_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/;

/**
 * The problem of an endpoint's URL, or undefined. It refuses addresses and names that cannot be public. A name's addresses are checked when
 * the sender connects, since they can change at any time. `allowPrivate`: http and private hosts are allowed, for development.
 */
export function urlProblem(text: string, allowPrivate: boolean): string | undefined {
  if (text.length > LONGEST_URL) return `must have at most ${LONGEST_URL} characters`;
  if (/\s/.test(text) || !URL.canParse(text)) return 'must be a URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:'))
    return 'must begin with https://';
  if (url.username || url.password) return 'must not contain a user or password';
  if (allowPrivate) return undefined;
  return isPublicHost(url.hostname) ? portProblem(url.port) : 'must lead to a public address';
}

/** The parser of URLs writes decimal, octal, hexadecimal and shortened IPv4 addresses in the usual form. */
function isPublicHost(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  if (name.startsWith('[') || /^[\d.]+$/.test(name)) return !isPrivateLiteral(name);
  return name.includes('.') && !LOCAL_NAME.test(name);
}

function portProblem(port: string): string | undefined {
  const isOpen = port === '' || port === HTTPS_PORT || Number(port) >= LOWEST_OPEN_PORT;
  return isOpen ? undefined : `must use port ${HTTPS_PORT}, or a port from ${LOWEST_OPEN_PORT} on`;
}

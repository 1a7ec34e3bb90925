/** The client's session. The client chooses it and puts it into the path, since Stremio cannot send a header of ours. */
export type Session =
  | { readonly kind: 'none' }
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'malformed' };

type Resource = 'catalog' | 'meta' | 'stream';

export interface ResourceAddress {
  readonly kind: Resource;
  readonly session: Session;
  /** A `type` or `id` that cannot be decoded, or is not readable, is empty and matches nothing. */
  readonly type: string;
  readonly id: string;
  readonly extra: URLSearchParams;
}

export type Address =
  { readonly kind: 'manifest'; readonly session: Session } | ResourceAddress | { readonly kind: 'unknown' };

export const ADDON_PATH = '/addon';

const SESSION = /^[A-Za-z0-9_-]{1,64}$/;
const READABLE = /^[^\p{Cc}\p{Cs}]{1,256}$/u;
const SUFFIX = '.json';
const MANIFEST = 'manifest.json';
const RESOURCES: readonly string[] = ['catalog', 'meta', 'stream'] satisfies Resource[];
// The first part of a path without a session.
const FIRST_WITHOUT_SESSION = new Set([MANIFEST, 'clips', ...RESOURCES]);

const UNKNOWN: Address = { kind: 'unknown' };

/**
 * Parses a URL below `/addon`, from the path as it was sent: each part is decoded once, so an encoded slash is part of an id and
 * never leads to another route.
 */
export function readAddress(url: string): Address {
  const [, , ...parts] = pathOf(url).split('/');
  const [first = '', second = ''] = parts.map(decoded);
  // No type has the name of a resource, so if the first two parts are both in this set, the first part is a session.
  if (FIRST_WITHOUT_SESSION.has(first) && !FIRST_WITHOUT_SESSION.has(second))
    return resourceAt(parts, { kind: 'none' });
  return resourceAt(parts.slice(1), sessionOf(first));
}

function resourceAt(parts: readonly string[], session: Session): Address {
  const last = parts.at(-1) ?? '';
  const [resource = '', type = '', id = ''] = parts.map(decoded);
  if (resource === MANIFEST) return parts.length === 1 ? { kind: 'manifest', session } : UNKNOWN;
  if (!RESOURCES.includes(resource) || !last.endsWith(SUFFIX) || parts.length < 3 || parts.length > 4)
    return UNKNOWN;
  const hasExtra = parts.length === 4;
  return {
    kind: resource as Resource,
    session,
    type: readable(type),
    id: readable(hasExtra ? id : withoutSuffix(id)),
    // Stremio encodes the values like a query, but not the separators.
    extra: new URLSearchParams(hasExtra ? withoutSuffix(last) : ''),
  };
}

function sessionOf(text: string): Session {
  return SESSION.test(text) ? { kind: 'named', name: text } : { kind: 'malformed' };
}

function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end < 0 ? url : url.slice(0, end);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

function readable(text: string): string {
  return READABLE.test(text) ? text : '';
}

function withoutSuffix(text: string): string {
  return text.slice(0, -SUFFIX.length);
}

// The router rejects longer parts.
const LONGEST_PART = 512;
const CATCH_ALL = `${ADDON_PATH}/unroutable`;

/**
 * Replaces a URL that the router cannot decode, or whose parts are too long or empty, by the catch-all route. A TV would show the
 * router's own error status as a broken add-on. The handler still reads the original URL.
 */
export function routableUrl(url: string): string {
  if (!url.startsWith(`${ADDON_PATH}/`)) return url;
  const [, ...parts] = pathOf(url).split('/');
  const isRoutable = parts.every((part) => part.length <= LONGEST_PART && decoded(part) !== '');
  return isRoutable ? url : CATCH_ALL;
}

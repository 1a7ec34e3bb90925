/** Whose request it says it is: the client chooses a session and puts it into the path, since Stremio sends no header of ours. */
export type Session =
  | { readonly kind: 'none' }
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'malformed' };

export type Resource = 'catalog' | 'meta' | 'stream';

export interface ResourceAddress {
  readonly kind: Resource;
  readonly session: Session;
  /** Both empty where they cannot be read: then they name nothing. */
  readonly type: string;
  readonly id: string;
  readonly extra: URLSearchParams;
}

export type Address =
  { readonly kind: 'manifest'; readonly session: Session } | ResourceAddress | { readonly kind: 'nowhere' };

export const ADDON_PATH = '/addon';

const SESSION = /^[A-Za-z0-9_-]{1,64}$/;
const LEGIBLE = /^[^\p{Cc}\p{Cs}]{1,256}$/u;
const SUFFIX = '.json';
const MANIFEST = 'manifest.json';
const RESOURCES: readonly string[] = ['catalog', 'meta', 'stream'] satisfies Resource[];
// What may come first where there is no session.
const FIRST = new Set([MANIFEST, 'clips', ...RESOURCES]);

const NOWHERE: Address = { kind: 'nowhere' };

/**
 * What a URL below `/addon` asks for, from the path as it was sent: each part is decoded once, so an encoded slash is part of an
 * id and never a way to another route.
 */
export function readAddress(url: string): Address {
  const [, , ...parts] = pathOf(url).split('/');
  const [first = '', second = ''] = parts.map(decoded);
  // No type of ours has such a name, so two of them in a row are a session that was named like a resource, and a resource.
  if (FIRST.has(first) && !FIRST.has(second)) return resourceAt(parts, { kind: 'none' });
  return resourceAt(parts.slice(1), sessionOf(first));
}

function resourceAt(parts: readonly string[], session: Session): Address {
  const last = parts.at(-1) ?? '';
  const [resource = '', type = '', id = ''] = parts.map(decoded);
  if (resource === MANIFEST) return parts.length === 1 ? { kind: 'manifest', session } : NOWHERE;
  if (!RESOURCES.includes(resource) || !last.endsWith(SUFFIX) || parts.length < 3 || parts.length > 4)
    return NOWHERE;
  const hasExtra = parts.length === 4;
  return {
    kind: resource as Resource,
    session,
    type: legible(type),
    id: legible(hasExtra ? id : withoutSuffix(id)),
    // Encoded like a query, with the separators in clear.
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

function legible(text: string): string {
  return LEGIBLE.test(text) ? text : '';
}

function withoutSuffix(text: string): string {
  return text.slice(0, -SUFFIX.length);
}

// As long as the router takes a part to be.
const LONGEST_PART = 512;
const CATCH_ALL = `${ADDON_PATH}/unroutable`;

/**
 * The router answers what it cannot decode, or finds too long or empty, with a status of its own, which a TV shows as a broken add-on. Such a
 * URL is led to the route that takes everything; what it asks for is read from the URL as it was sent.
 */
export function routableUrl(url: string): string {
  if (!url.startsWith(`${ADDON_PATH}/`)) return url;
  const [, ...parts] = pathOf(url).split('/');
  const isRoutable = parts.every((part) => part.length <= LONGEST_PART && decoded(part) !== '');
  return isRoutable ? url : CATCH_ALL;
}

import { type Cut, cutName } from '#streams';

const CODINGS = ['gzip', 'identity'] as const;
export type Coding = (typeof CODINGS)[number];

const VERSION = /^[\w-]+/;

/** A version of a cut in one coding, for the ETag header: other bytes, another tag. */
export function entityTag(version: string, cut: Cut, coding: Coding): string {
  return `"${[version, cutName(cut), coding].filter(Boolean).join('.')}"`;
}

/** The tags of that cut that a client's If-None-Match names, by their version; under `*` whatever there is. */
export function tagsIn(ifNoneMatch: string | undefined, cut: Cut): ReadonlyMap<string, string> {
  const tags = new Map<string, string>();
  if (ifNoneMatch?.trim() === '*') return tags.set('*', '');
  for (const [tag] of (ifNoneMatch ?? '').matchAll(/"[^"]*"/g)) {
    const [version = ''] = VERSION.exec(tag.slice(1)) ?? [];
    if (CODINGS.some((coding) => entityTag(version, cut, coding) === tag)) tags.set(version, tag);
  }
  return tags;
}

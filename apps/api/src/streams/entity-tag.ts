import { type Cut, cutName } from '#streams';

const CODINGS = ['gzip', 'identity'] as const;
export type Coding = (typeof CODINGS)[number];

const VERSION = /^[\w-]+/;

/** The ETag of one version of a cut in one coding: gzip and identity have different bytes, so they have different tags. */
export function entityTag(version: string, cut: Cut, coding: Coding): string {
  return `"${[version, cutName(cut), coding].filter(Boolean).join('.')}"`;
}

/** The tags of this cut that an If-None-Match names, by their version. `*` names every version. */
export function tagsIn(ifNoneMatch: string | undefined, cut: Cut): ReadonlyMap<string, string> {
  const tags = new Map<string, string>();
  if (ifNoneMatch?.trim() === '*') return tags.set('*', '');
  for (const [tag] of (ifNoneMatch ?? '').matchAll(/"[^"]*"/g)) {
    const [version = ''] = VERSION.exec(tag.slice(1)) ?? [];
    if (CODINGS.some((coding) => entityTag(version, cut, coding) === tag)) tags.set(version, tag);
  }
  return tags;
}

/** True if an Accept-Encoding allows gzip; false without the header. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const weights = new Map<string, number>();
  for (const entry of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const [, quality] = /^q=(\d(?:\.\d*)?)$/.exec(parameters.find((one) => one.startsWith('q=')) ?? '') ?? [];
    weights.set(coding, Number(quality ?? 1));
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0;
}

import { type Cut, cutName } from '#streams';

export type Coding = 'gzip' | 'identity';

/** A version of a cut in one coding, for the ETag header: other bytes, another tag. */
export function entityTag(version: string, cut: Cut, coding: Coding): string {
  return `"${[version, cutName(cut), coding].filter(Boolean).join('.')}"`;
}

/** The versions of that cut, in whatever coding, that a client's If-None-Match names; `*` as it is. */
export function versionsIn(ifNoneMatch: string | undefined, cut: Cut): string[] {
  if (ifNoneMatch === undefined) return [];
  if (ifNoneMatch.trim() === '*') return ['*'];
  const versions = [];
  for (const [, tag = ''] of ifNoneMatch.matchAll(/"([^"]*)"/g)) {
    const version = /^[^.]*/.exec(tag)?.[0] ?? '';
    const isOfCut = (['gzip', 'identity'] as const).some(
      (coding) => entityTag(version, cut, coding) === `"${tag}"`,
    );
    if (isOfCut) versions.push(version);
  }
  return versions;
}

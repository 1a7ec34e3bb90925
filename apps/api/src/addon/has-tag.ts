/** Whether an If-None-Match names that tag. Caches on the way may have made it a weak one. */
export function hasTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const named = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return named.includes(etag) || named.includes('*');
}

/** Of a Range header: what of so many bytes is asked for. `last` is the last byte's place. */
export type ByteRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly first: number; readonly last: number }
  | { readonly kind: 'none' };

const WHOLE: ByteRange = { kind: 'whole' };

/** Several ranges, or something else than bytes, may be answered with everything (RFC 9110, 14.2). */
export function byteRange(header: string | undefined, size: number): ByteRange {
  const [, from, to] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (from === undefined || to === undefined || from + to === '') return WHOLE;
  if (from === '') return part(Math.max(size - Number(to), 0), size - 1, size);
  if (to !== '' && Number(to) < Number(from)) return WHOLE;
  return part(Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1), size);
}

function part(first: number, last: number, size: number): ByteRange {
  return first < size ? { kind: 'part', first, last } : { kind: 'none' };
}

export type ByteRange =
  { kind: 'whole' } | { kind: 'part'; start: number; end: number } | { kind: 'unsatisfiable' };

const SINGLE_RANGE = /^bytes=(\d*)-(\d*)$/;

/** `end` is inclusive, as in Content-Range. Several ranges or nonsense are answered with the whole file (RFC 9110 allows both). */
export function parseByteRange(header: string | undefined, sizeBytes: number): ByteRange {
  const match = SINGLE_RANGE.exec(header ?? '');
  if (!match || (!match[1] && !match[2])) return { kind: 'whole' };

  const [, first = '', last = ''] = match;
  if (!first) return suffix(Number(last), sizeBytes);

  const start = Number(first);
  const end = last ? Math.min(Number(last), sizeBytes - 1) : sizeBytes - 1;
  if (last && Number(last) < start) return { kind: 'whole' };
  return start < sizeBytes ? { kind: 'part', start, end } : { kind: 'unsatisfiable' };
}

function suffix(length: number, sizeBytes: number): ByteRange {
  if (length === 0) return { kind: 'unsatisfiable' };
  return { kind: 'part', start: Math.max(0, sizeBytes - length), end: sizeBytes - 1 };
}

/** The offset of the next page as an opaque token. */
export function sealOffset(offset: number): string {
  return Buffer.from(`o${offset}`).toString('base64url');
}

/** Undefined if `sealOffset` did not make the token. */
export function openOffset(token: string): number | undefined {
  const match = /^o(\d{1,9})$/.exec(Buffer.from(token, 'base64url').toString('latin1'));
  return match ? Number(match[1]) : undefined;
}

/** Where the next page starts, wrapped so that nobody reads meaning into it. */
export function sealOffset(offset: number): string {
  return Buffer.from(`o${offset}`).toString('base64url');
}

/** Undefined for a token that was never handed out. */
export function openOffset(token: string): number | undefined {
  const match = /^o(\d{1,9})$/.exec(Buffer.from(token, 'base64url').toString('latin1'));
  return match ? Number(match[1]) : undefined;
}

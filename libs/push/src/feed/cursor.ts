import { AppError, InvalidInput } from '#platform';

/**
 * A place in the log, between two changes: the seq of the change before it, and the first digits of that change's id. After a restore, a
 * standby's promotion or in another deployment, another change has that place, and the cursor is recognised as expired.
 */
export interface Place {
  readonly seq: number;
  readonly mark: string;
}

/** The place before the first change ever. */
export const BEGINNING: Place = { seq: 0, mark: '00000000' };

const PLACE = /^change (0|[1-9]\d{0,14}) ([0-9a-f]{8})$/;

export const placeAt = ({ seq, id }: { readonly seq: string | number; readonly id: string | null }): Place =>
  id === null ? BEGINNING : { seq: Number(seq), mark: id.slice(0, 8) };

export const cursorOf = ({ seq, mark }: Place): string =>
  Buffer.from(`change ${seq} ${mark}`).toString('base64url');

/** Parses a cursor of `cursorOf`. Throws InvalidInput for any other text; `field` names the parameter that has it. */
export function placeOf(cursor: string, field: string): Place {
  const [, seq, mark] = PLACE.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (seq === undefined || mark === undefined)
    throw new InvalidInput([`${field}: must be a next_cursor of an earlier answer`]);
  return { seq: Number(seq), mark };
}

/** The changes after the cursor are no longer kept, or the log was restored from a backup. */
export class CursorExpired extends AppError {
  override readonly code = 'CURSOR_EXPIRED';
  override readonly kind = 'gone';
  override readonly fields: Readonly<Record<string, string>>;
  constructor(oldest: Place) {
    super(
      'The changes after this cursor are no longer kept: take a cursor with after=latest, read everything again, then go on from that cursor',
    );
    this.fields = { oldest_cursor: cursorOf(oldest) };
  }
}

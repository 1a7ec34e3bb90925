import { z } from 'zod';

/** What must be written as a bare number on the wire: 64 bit at most, which is 19 digits. */
export const Digits = z.union([
  z.string().regex(/^[1-9]\d{0,18}$/, 'expected up to 19 digits'),
  z.int().positive().transform(String),
]);

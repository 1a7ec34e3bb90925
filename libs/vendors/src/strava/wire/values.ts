import { z } from 'zod';

// The largest value of an integer column. A larger number in one item would fail the insert of its whole page.
const LARGEST_INT = 2_147_483_647;

/** Strava sends ids as numbers. `parseJson` turns those beyond 2^53 into strings, so that no digit is lost. */
export const Id = z.union([z.int().nonnegative().transform(String), z.string().regex(/^\d{1,20}$/)]);
export const Seconds = z.number().min(0).max(LARGEST_INT).transform(Math.round);
export const Moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

export const numberOr = (otherwise: number) =>
  z
    .number()
    .nullish()
    .transform((value) => value ?? otherwise);
export const integerOr = (otherwise: number) =>
  z
    .number()
    .min(-LARGEST_INT)
    .max(LARGEST_INT)
    .nullish()
    .transform((value) => Math.round(value ?? otherwise));
export const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);

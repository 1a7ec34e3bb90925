import { z } from 'zod';

const LARGEST_INT = 2_147_483_647;

/** A number on the wire; beyond 2^53 `parseJson` has made it a string with all its digits. */
export const Id = z.union([z.int().nonnegative().transform(String), z.string().regex(/^\d{1,20}$/)]);
export const Seconds = z.number().min(0).max(LARGEST_INT).transform(Math.round);
export const Moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

/** Left out and null are the same. */
export const maybe = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null);
export const numberOr = (otherwise: number) =>
  z
    .number()
    .nullish()
    .transform((value) => value ?? otherwise);
export const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);

const MOST_PROBLEMS = 5;

/** Which fields are not as expected; never what they hold. */
export function problemsOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, MOST_PROBLEMS)
    .map(({ path, message }) => `${path.join('.') || 'answer'}: ${message}`)
    .join('; ');
}

import { z } from 'zod';

/** Exercise ids are hashes. The pattern keeps an id from changing the path of a request. */
export const ExerciseId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);

const DURATION = /^P(?:(\d+)D)?(?:T(?:([\d.]+)H)?(?:([\d.]+)M)?(?:([\d.]+)S)?)?$/;
const LONGEST_S = 30 * 86_400;

/** Seconds of an ISO 8601 duration. Polar writes any mix of units, fractions, and more than 59 seconds: `PT2H44M`, `PT210.026S`. */
export const Duration = z.string().transform((text, context) => {
  const parts = DURATION.exec(text)?.slice(1);
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts?.map((part) => Number(part ?? 0)) ?? [];
  const total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  const isPresent = parts?.some((part) => part !== undefined) ?? false;
  if (isPresent && total <= LONGEST_S) return total;
  context.addIssue('is no duration');
  return z.NEVER;
});

/** Null for a missing value, 0, and the negative numbers with which Polar says "none". */
export const positive = z
  .number()
  .nullish()
  .transform((value) => (value != null && value > 0 ? value : null));

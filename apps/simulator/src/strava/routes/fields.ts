import { z } from 'zod';
import { type Activity, type ActivityOverrides, SPORT_TYPES } from '#training-world';
import { badRequest } from '../strava-fault.js';

/** A whole number from the query; undefined if the field is absent or empty. */
export function wholeNumber(query: unknown, field: string): number | undefined {
  const text = (query as Record<string, unknown>)[field];
  if (text === undefined || text === '') return undefined;
  if (typeof text !== 'string' || !/^-?\d{1,15}$/.test(text)) throw badRequest('Application', field);
  return Number(text);
}

/** A boolean. A form sends a boolean as text. */
export const Flag = z.union([
  z.boolean(),
  z.enum(['true', 'false', '1', '0']).transform((word) => 'true1'.includes(word)),
]);

const Changes = z.object({
  name: z.string().min(1).max(255).optional(),
  description: z.string().nullable().optional(),
  sport_type: z.enum(SPORT_TYPES).optional(),
  /** Deprecated, but some clients still send it. `sport_type` takes precedence. */
  type: z.enum(SPORT_TYPES).optional(),
  commute: Flag.optional(),
  trainer: Flag.optional(),
  hide_from_home: Flag.optional(),
  gear_id: z.string().optional(),
});

/** Returns only fields that differ from earlier edits, so that the event of a repeated edit has empty `updates`. */
export function readActivityChanges(body: unknown, activity: Activity): ActivityOverrides {
  const parsed = Changes.safeParse(body ?? {});
  if (!parsed.success) throw badRequest('Activity', String(parsed.error.issues[0]?.path[0] ?? ''));
  const { type, sport_type = type, gear_id, ...others } = parsed.data;
  const known: ActivityOverrides = activity.overrides ?? {};
  const changes: ActivityOverrides = { ...others, sport_type, gear_id: gear_id === 'none' ? null : gear_id };
  const differing = Object.entries(changes).filter(
    ([field, value]) => value !== undefined && value !== known[field as keyof ActivityOverrides],
  );
  return Object.fromEntries(differing);
}

import { z } from 'zod';
import { type Activity, type ActivityOverrides } from '../../athletes/index.js';
import { badRequest } from '../strava-fault.js';

/** Forms carry booleans as words. */
const Flag = z.union([
  z.boolean(),
  z.enum(['true', 'false', '1', '0']).transform((word) => 'true1'.includes(word)),
]);

const Changes = z.object({
  name: z.string().min(1).max(255).optional(),
  description: z.string().nullable().optional(),
  sport_type: z.string().min(1).optional(),
  /** Deprecated, but still sent; `sport_type` wins. */
  type: z.string().min(1).optional(),
  commute: Flag.optional(),
  trainer: Flag.optional(),
  hide_from_home: Flag.optional(),
  gear_id: z.string().optional(),
});

/** Only what differs, so that an edit to the same values is told of with empty `updates`. */
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

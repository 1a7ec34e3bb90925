import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InvalidInput } from '#platform';
import { parseJson } from '../parse-json.js';
import { Id } from '../wire/values.js';

const MOST_SECONDS = 100_000_000_000;

const WireEvent = z.object({
  aspect_type: z.enum(['create', 'update', 'delete']),
  event_time: z.int().min(0).max(MOST_SECONDS),
  object_id: Id,
  object_type: z.enum(['activity', 'athlete']),
  owner_id: Id,
  subscription_id: Id,
  updates: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((updates) => updates ?? {}),
});

export type Aspect = 'create' | 'update' | 'delete';

/** What Strava says has happened. Nothing signs it, so it is a hint where to look and no more. */
export interface StravaEvent {
  readonly aspect: Aspect;
  readonly eventTime: Date;
  readonly objectType: 'activity' | 'athlete';
  readonly objectId: string;
  readonly ownerId: string;
  readonly subscriptionId: string;
  readonly updates: Readonly<Record<string, unknown>>;
}

/** Throws InvalidInput, which names the fields. */
export function readEvent(raw: string): StravaEvent {
  const wire = WireEvent.safeParse(jsonOf(raw));
  if (!wire.success)
    throw new InvalidInput(wire.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`));
  const { data } = wire;
  return {
    aspect: data.aspect_type,
    eventTime: new Date(data.event_time * 1_000),
    objectType: data.object_type,
    objectId: data.object_id,
    ownerId: data.owner_id,
    subscriptionId: data.subscription_id,
    updates: data.updates,
  };
}

/** Strava's events have no id: one that is sent again says the same of the same. */
export function dedupeKey({ updates, ...event }: StravaEvent): string {
  const said = [...Object.entries(event).sort(byName), ...Object.entries(updates).sort(byName)];
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url');
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);

function jsonOf(raw: string): unknown {
  try {
    return parseJson(raw);
  } catch {
    throw new InvalidInput(['body: is not JSON']);
  }
}

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InvalidInput } from '#platform';

const WireEvent = z.object({
  event_type: z.enum(['create', 'update', 'delete']),
  data_type: z.string().min(1),
  object_id: z.string().min(1),
  event_time: z.iso.datetime({ offset: true }),
  user_id: z.string().min(1),
});

/** Where something has happened at Oura; what, the document says. */
export interface OuraEvent {
  readonly type: 'create' | 'update' | 'delete';
  readonly dataType: string;
  readonly objectId: string;
  readonly eventTime: Date;
  readonly userId: string;
  /** The same for one that is sent again: Oura numbers nothing. */
  readonly dedupeKey: string;
}

/** Throws InvalidInput, which names the fields. */
export function readOuraEvent(raw: string): OuraEvent {
  const wire = WireEvent.safeParse(jsonOf(raw));
  if (!wire.success)
    throw new InvalidInput(
      wire.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`),
    );
  const { event_type: type, data_type: dataType, object_id: objectId, user_id: userId } = wire.data;
  const eventTime = new Date(wire.data.event_time);
  const said = JSON.stringify([userId, dataType, objectId, type, eventTime]);
  const dedupeKey = createHash('sha256').update(said).digest('base64url');
  return { type, dataType, objectId, eventTime, userId, dedupeKey };
}

function jsonOf(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    throw new InvalidInput(['body: is not JSON']);
  }
}

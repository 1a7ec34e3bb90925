import { z } from 'zod';
import { InvalidInput } from '#platform';

const WireEvent = z.object({
  user_id: z.union([z.int(), z.string().min(1)]).transform(String),
  id: z.union([z.int(), z.string().min(1)]).transform(String),
  type: z.string().min(1),
  trace_id: z.string().min(1),
});

/** Where something has happened at WHOOP; what, the document says. There is no time in it. */
export interface WhoopEvent {
  readonly userId: string;
  /** Of the workout or sleep; of a recovery, that of its sleep. */
  readonly id: string;
  /** `sleep.updated`, `sleep.deleted`, … */
  readonly type: string;
  /** The same for one that is sent again. */
  readonly traceId: string;
}

/** Throws InvalidInput, which names the fields. */
export function readWhoopEvent(raw: string): WhoopEvent {
  const wire = WireEvent.safeParse(jsonOf(raw));
  if (!wire.success)
    throw new InvalidInput(
      wire.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`),
    );
  const { user_id: userId, id, type, trace_id: traceId } = wire.data;
  return { userId, id, type, traceId };
}

function jsonOf(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    throw new InvalidInput(['body: is not JSON']);
  }
}

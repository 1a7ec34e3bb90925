import { validate as isUuid } from 'uuid';
import { canonicalSubject } from '#platform';

/** The person that a message is about. Malformed messages name people too, and dead letters often are malformed. */
export type NamedPerson =
  | { readonly kind: 'user'; readonly night: NamedNight; readonly vendor: string | undefined }
  | { readonly kind: 'account'; readonly vendor: string; readonly account: string }
  | { readonly kind: 'unreadable'; mentions(subject: string): boolean };

interface NamedNight {
  readonly userId: string;
  readonly date: string;
  readonly durationMinutes: number;
  readonly vendor: string;
  readonly capturedAt: string;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads the fields that name people: `userId` of sleep events, and `userId` beside `vendor` of vendors' events. Releases
 * before the common inbox kept vendors' events in NATS; some may wait as dead letters.
 */
export function personNamedIn(text: string): NamedPerson {
  const content = parsed(text);
  const night = [content.payload, content.record, content].find(
    (part) => isObject(part) && isText(part.userId),
  );
  if (isObject(night)) return ofNight(night, content);
  return { kind: 'unreadable', mentions: (subject) => mentions(text, subject) };
}

function ofNight(night: Json, content: Json): NamedPerson {
  const id = String(night.userId);
  if (night === content && isText(content.vendor))
    return { kind: 'account', vendor: content.vendor, account: id };
  // The event has the id as the client wrote it.
  const userId = canonicalSubject(id);
  const { record } = night;
  // A raw night has its vendor in `record`, a stored night beside its other fields.
  const vendor = content.record === night ? night.vendor : isObject(record) ? record.vendor : undefined;
  return {
    kind: 'user',
    vendor: isText(vendor) ? vendor : undefined,
    night: { ...(night as object as NamedNight), userId },
  };
}

function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Matches the subject as a whole JSON string, since a short subject may be part of other words. A UUID matches in either case. */
function mentions(text: string, subject: string): boolean {
  const value = JSON.stringify(subject);
  return text.includes(value) || (isUuid(subject) && text.toLowerCase().includes(value));
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

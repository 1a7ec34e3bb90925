import {
  type SleepNormalizedStored,
  sleepNormalizedStored,
  type SleepRemoved,
  sleepRemoved,
} from '../contract/night-events.js';
import { type NightKey } from './columns.js';
import { type SleepSession } from './session.js';
import { type Night, type Saved } from './sleep-store.js';

/** A message about a night's present state. The same state from the same event has the same id, so the stream keeps one message. */
export type Announcement = { readonly night: NightKey; readonly id: string; readonly because: string } & (
  | { readonly kind: 'stored'; readonly content: SleepNormalizedStored }
  | { readonly kind: 'removed'; readonly content: SleepRemoved }
);

/**
 * A night whose present state comes from an event of this batch is published under that event's id. This is so even if an earlier delivery
 * stored the night, because its worker may have died before publishing. Any other night is published if this batch has changed the night.
 *
 * If a redelivered event is not the night's present state, the present state is published under the id of the redelivered event. The
 * worker of the earlier delivery may only be frozen: when it wakes, the stream drops its message as a duplicate. If that worker has
 * published already, the stream drops our message, and `NightPublisher` publishes a correction.
 */
export function announcementsOf(
  { keys, others }: Saved,
  sessions: readonly SleepSession[],
  redelivered: ReadonlySet<string>,
): Announcement[] {
  const byEvent = new Map(sessions.map((session) => [session.eventId, session]));
  const otherNights = new Map(others.map((night) => [nameOf(night), night]));
  const again = redeliveredByNight(sessions, redelivered);
  return keys.flatMap((key) => {
    const other = otherNights.get(nameOf(key));
    const made = byEvent.get(key.event_id ?? '');
    const present = other ? correctionOf(other, key.event_id ?? '') : made && ofSession(key, made);
    if (!present) return [];
    const before = again.get(nameOf(key)) ?? [];
    const earlier = before.filter((eventId) => other !== undefined || eventId !== key.event_id);
    const isNew = !other || (other.changed && earlier.length === 0);
    const inTheirPlace = earlier.map((eventId) => ({ ...present, because: eventId, id: idOf(eventId) }));
    return [...(isNew ? [present] : []), ...inTheirPlace];
  });
}

const idOf = (eventId: string) => `${sleepNormalizedStored.name}:${eventId}`;

/**
 * Announces a night that has changed since it was published. `correctedSeq`: the sequence of the outdated message. It is part of the id,
 * because the same event may cause corrections of several messages.
 */
export function correctionOf(night: Night, because: string, correctedSeq?: number): Announcement {
  const { user_id: userId, date, event_id: eventId } = night;
  const key = { user_id: userId, date, event_id: eventId };
  const after = correctedSeq === undefined ? because : String(correctedSeq);
  if (eventId === null) {
    const content = { record: { userId, date } };
    return {
      kind: 'removed',
      night: key,
      because,
      id: `${sleepRemoved.name}:${date}:after:${after}`,
      content,
    };
  }
  const {
    duration_minutes: durationMinutes,
    quality_score: qualityScore,
    vendor,
    captured_at: capturedAt,
  } = night;
  return {
    kind: 'stored',
    night: key,
    because,
    id: `${idOf(eventId)}:after:${after}`,
    content: {
      record: {
        userId,
        date,
        durationMinutes,
        qualityScore: qualityScore ?? undefined,
        vendor,
        capturedAt: iso(capturedAt.getTime()),
      },
    },
  };
}

function ofSession(night: NightKey, session: SleepSession): Announcement {
  const { userId, date, durationMinutes, qualityScore, vendor, capturedAtMs, eventId } = session;
  const capturedAt = iso(capturedAtMs);
  return {
    kind: 'stored',
    night,
    because: eventId,
    id: idOf(eventId),
    content: {
      record: { userId, date, durationMinutes, qualityScore: qualityScore ?? undefined, vendor, capturedAt },
    },
  };
}

function redeliveredByNight(
  sessions: readonly SleepSession[],
  redelivered: ReadonlySet<string>,
): ReadonlyMap<string, string[]> {
  const byNight = new Map<string, string[]>();
  if (redelivered.size === 0) return byNight;
  for (const { userId, date, eventId } of sessions) {
    if (!redelivered.has(eventId)) continue;
    const name = `${userId}\n${date}`;
    byNight.set(name, [...(byNight.get(name) ?? []), eventId]);
  }
  return byNight;
}

const nameOf = ({ user_id, date }: NightKey) => `${user_id}\n${date}`;

/** An ISO time, without milliseconds if they are zero: consumers rely on this format. */
const iso = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');

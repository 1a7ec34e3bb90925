import { type SleepNormalizedStored, sleepNormalizedStored } from '../contract/sleep-normalized-stored.js';
import { type SleepRemoved, sleepRemoved } from '../contract/sleep-removed.js';
import { type SleepSession } from './session.js';
import { type Night, type NightKey, type Saved } from './sleep-store.js';

/** What the world is told about a night. The same is told under the same id, so that telling it twice is telling it once. */
export type Announcement = { readonly told: NightKey; readonly id: string; readonly because: string } & (
  | { readonly kind: 'stored'; readonly content: SleepNormalizedStored }
  | { readonly kind: 'removed'; readonly content: SleepRemoved }
);

/**
 * A night that an event of this batch has made is told under that event's id, also when it was made at an earlier
 * delivery: perhaps its worker died before it told. One that looks otherwise is told where this batch has changed it, or where an
 * event that was delivered before had a part in it: it may have been told since the newer one was.
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
    const made = key.event_id ?? '';
    const earlier = again.get(nameOf(key))?.find((eventId) => eventId !== (other ? null : made));
    if (other) {
      const because =
        earlier ?? (redelivered.has(made) ? made : undefined) ?? (other.changed ? made : undefined);
      return because === undefined ? [] : [asItIs(other, because)];
    }
    const session = byEvent.get(made);
    if (!session) return [];
    const own = ofSession(key, session);
    return earlier === undefined ? [own] : [own, { ...own, id: `${own.id}:after:${earlier}` }];
  });
}

/** A night that somebody has changed since it was told. */
export function asItIs(night: Night, because: string): Announcement {
  const { user_id: userId, date, event_id: eventId } = night;
  const told = { user_id: userId, date, event_id: eventId };
  if (eventId === null) {
    const content = { record: { userId, date } };
    return { kind: 'removed', told, because, id: `${sleepRemoved.name}:${date}:after:${because}`, content };
  }
  const {
    duration_minutes: durationMinutes,
    quality_score: qualityScore,
    vendor,
    captured_at: capturedAt,
  } = night;
  return {
    kind: 'stored',
    told,
    because,
    id: `${sleepNormalizedStored.name}:${eventId}:after:${because}`,
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

function ofSession(told: NightKey, session: SleepSession): Announcement {
  const { userId, date, durationMinutes, qualityScore, vendor, capturedAtMs, eventId } = session;
  const capturedAt = iso(capturedAtMs);
  return {
    kind: 'stored',
    told,
    because: eventId,
    id: `${sleepNormalizedStored.name}:${eventId}`,
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

/** As the source writes it: no milliseconds where there are none. */
const iso = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');

import { type SleepSession } from './session.js';

/** The newest of each record, in the order of their keys: a statement may not touch a row twice, nor two workers in turn. */
export function newestOfEach(sessions: readonly SleepSession[]): SleepSession[] {
  const newest = new Map<string, SleepSession>();
  for (const session of sessions) {
    const key = `${session.userId}\n${session.source}\n${session.recordId}`;
    const known = newest.get(key);
    if (!known || isNewer(session, known)) newest.set(key, session);
  }
  return [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, session]) => session);
}

/** As the upsert's guard decides it. */
export function isNewer(one: SleepSession, other: SleepSession): boolean {
  if (one.revision !== other.revision) return one.revision > other.revision;
  if (one.capturedAtMs !== other.capturedAtMs) return one.capturedAtMs > other.capturedAtMs;
  return one.payloadHash > other.payloadHash;
}

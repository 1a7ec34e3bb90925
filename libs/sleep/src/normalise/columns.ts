import { type SleepSession } from './session.js';

// Columns of a batch as parameters. node-postgres checks and escapes every element of an array, which costs more than the
// statement itself; JSON would quote every value.

/** No text contains this character: names may not have control characters, and JSON escapes them. */
const SEPARATOR = '\u001e';

/** A user's night. `event_id`: the event that made the night, as far as the caller knows; null if the caller knows of no night. */
export interface NightKey {
  readonly user_id: string;
  readonly date: string;
  readonly event_id: string | null;
}

/** For `string_to_array($n, chr(30), '')`: an empty text becomes null. */
export function texts(values: ReadonlyArray<string | null>): string {
  return values.join(SEPARATOR);
}

/** An array literal. */
function numbers(values: ReadonlyArray<number | bigint | boolean | null>): string {
  return `{${values.map((value) => (value === null ? 'null' : String(value))).join(',')}}`;
}

/** An array literal of values that need no quotes: dates, UUIDs and constants of ours. */
export function unquoted(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}

export function keyColumns(keys: readonly NightKey[]): string[] {
  return [
    texts(keys.map(({ user_id }) => user_id)),
    unquoted(keys.map(({ date }) => date)),
    texts(keys.map(({ event_id }) => event_id)),
  ];
}

/** The parameters of save-sessions.sql, in order. */
export function sessionColumns(sessions: readonly SleepSession[]): string[] {
  return [
    texts(sessions.map(({ userId }) => userId)),
    unquoted(sessions.map(({ source }) => source)),
    texts(sessions.map(({ recordId }) => recordId)),
    unquoted(sessions.map(({ date }) => date)),
    unquoted(sessions.map(({ vendor }) => vendor)),
    numbers(sessions.map(({ durationMinutes }) => durationMinutes)),
    numbers(sessions.map(({ qualityScore }) => qualityScore)),
    numbers(sessions.map(({ nap }) => nap)),
    unquoted(sessions.map(({ state }) => state)),
    numbers(sessions.map(({ revision }) => revision)),
    numbers(sessions.map(({ capturedAtMs }) => capturedAtMs)),
    numbers(sessions.map(({ payloadHash }) => payloadHash)),
    texts(sessions.map(({ eventId }) => eventId)),
    texts(sessions.map(({ raw }) => raw)),
    numbers(sessions.map(({ receivedAtMs }) => receivedAtMs)),
  ];
}

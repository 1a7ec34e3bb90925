import { type Schema } from './api.js';

type ChangeType = Schema<'ChangeAnswer'>['type'];
type Family = ChangeType extends `${infer Noun}.${string}` ? Noun : never;

/** A type of change, all types of a noun (`activity.*`), or `overview`: the figures of GET /admin/observability. */
export type ChangePattern = ChangeType | `${Family}.*` | 'overview';

export interface Change {
  readonly type: ChangeType;
  readonly athlete_id: string;
}

// A record and no list, so that the compiler notices a type that the API gets and this file lacks.
const TYPES: Record<ChangeType, true> = {
  'athlete.deleted': true,
  'connection.active': true,
  'connection.needs_reauth': true,
  'connection.removed': true,
  'import.completed': true,
  'import.failed': true,
  'import.rate_limited': true,
  'activity.created': true,
  'activity.updated': true,
  'activity.deleted': true,
  'streams.ready': true,
  'streams.unavailable': true,
  'streams.failed': true,
  'activity.processed': true,
  'sleep.stored': true,
  'sleep.removed': true,
};

export const CHANGE_TYPES = Object.keys(TYPES) as ChangeType[];

/** True if a query that depends on `patterns`, of one athlete or of all, is old after this change. */
export function isConcerned(
  { changes = [], athleteId }: { readonly changes?: readonly ChangePattern[]; readonly athleteId?: string },
  change: Change,
): boolean {
  if (athleteId !== undefined && athleteId !== change.athlete_id) return false;
  return changes.some((pattern) => covers(pattern, change.type));
}

function covers(pattern: ChangePattern, type: ChangeType): boolean {
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
}

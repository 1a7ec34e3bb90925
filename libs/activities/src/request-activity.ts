import { type ActivitySource, type CallContext, type CallOutcome, type DetailedActivity } from '#vendors';

/**
 * Requests an activity that has a row. An answer with another id is malformed. Stored under that id, it would leave this row unchanged, and the
 * activity would be requested again without end.
 */
export async function requestActivity(
  source: Pick<ActivitySource, 'activity'>,
  context: CallContext,
  externalId: string,
): Promise<CallOutcome<DetailedActivity>> {
  const outcome = await source.activity(context, externalId);
  if (outcome.kind !== 'ok' || outcome.value.id === externalId) return outcome;
  return { kind: 'broken', because: 'malformed', reason: 'The vendor answered with another activity' };
}

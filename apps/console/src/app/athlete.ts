import { useParams } from '@tanstack/react-router';

/** The athlete in the address, whom an operator looks at. Undefined on an athlete's own pages. */
export function useAthleteId(): string | undefined {
  return useParams({ strict: false }).id;
}

/** The path of an activity's page below /console. */
export function activityPath(athleteId: string | undefined, activityId: string): string {
  const own = `/activities/${activityId}`;
  return athleteId ? `/athletes/${athleteId}${own}` : own;
}

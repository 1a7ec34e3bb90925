import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';
import { ConnectionRecords } from '#connections';
import { EventRecords, StravaInboxModule } from '#strava';

/** Everything that is held about a person, and who deletes it. */
export const accountModule = AccountModule.working(
  [ConnectionRecords, EventRecords, ...personalRecords],
  [ActivitiesModule, StravaInboxModule],
);

import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';
import { ConnectionRecords } from '#connections';

/** Everything that is held about a person, and who deletes it. */
export const accountModule = AccountModule.working(
  [ConnectionRecords, ...personalRecords],
  [ActivitiesModule],
);

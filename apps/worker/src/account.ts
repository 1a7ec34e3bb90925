import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';

/** Everything that is held about a person, and who deletes it. */
export const accountModule = AccountModule.working(personalRecords, [ActivitiesModule]);

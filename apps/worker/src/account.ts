import { AccountModule } from '#account';
import { ActivitiesModule, personalRecords } from '#activities';
import { ConnectionRecords } from '#connections';
import { JobsModule, processingRecords } from '#jobs';
import { SleepModule, sleepRecords } from '#sleep';
import { EventRecords, StravaInboxModule } from '#strava';
import { StreamRecords } from '#streams';
import { WriteBackRecords } from '#write-back';
import { writeBackModule } from './processing/processing.js';
import { streamsModule } from './streams/streams.js';

/** Everything that is held about a person, and who deletes it. */
export const accountModule = AccountModule.working(
  [
    ConnectionRecords,
    EventRecords,
    StreamRecords,
    WriteBackRecords,
    ...processingRecords,
    ...personalRecords,
    ...sleepRecords,
  ],
  [ActivitiesModule, StravaInboxModule, streamsModule, SleepModule, JobsModule.asking(), writeBackModule],
);

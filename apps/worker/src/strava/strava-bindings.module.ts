import { Module } from '@nestjs/common';
import { Account } from '#account';
import { ActivitiesWorkModule, LiveChanges } from '#activities';
import { Connections } from '#connections';
import { STRAVA_ATHLETES, STRAVA_EVENTS, type StravaAthletes, type StravaEvents } from '#strava';
import { UploadedStreams } from '#streams';
import { accountModule } from '../account.js';
import { streamsModule } from '../streams/streams.js';

/** What Strava's events lead to: activities change, connections end. */
@Module({
  imports: [ActivitiesWorkModule, streamsModule, accountModule],
  providers: [
    {
      provide: STRAVA_EVENTS,
      inject: [LiveChanges, UploadedStreams, Account],
      useFactory: (changes: LiveChanges, streams: UploadedStreams, account: Account): StravaEvents => ({
        activityChanged: async (owner, externalId, eventTime, aspect, answered) => {
          await changes.activityChanged(owner, externalId, eventTime, aspect, answered);
          // Not waited for: the event is done, and its lease is not made for a second call.
          if (aspect === 'create') void streams.fetch(owner.athleteId, externalId);
        },
        activityDeleted: (...event) => changes.activityDeleted(...event),
        deauthorized: ({ athleteId, connectedAt }) => account.deauthorized(athleteId, 'strava', connectedAt),
      }),
    },
    {
      provide: STRAVA_ATHLETES,
      inject: [Connections],
      useFactory: (connections: Connections): StravaAthletes => ({
        athleteOf: (vendorAthleteId) => connections.athleteOf('strava', vendorAthleteId),
      }),
    },
  ],
  exports: [STRAVA_EVENTS, STRAVA_ATHLETES],
})
export class StravaBindingsModule {}

import { Module } from '@nestjs/common';
import { Account } from '#account';
import { ActivitiesWorkModule, LiveChanges } from '#activities';
import { Connections } from '#connections';
import { STRAVA_ATHLETES, STRAVA_EVENTS, type StravaAthletes, type StravaEvents } from '#strava';
import { accountModule } from '../account.js';

/** What Strava's events lead to: activities change, connections end. */
@Module({
  imports: [ActivitiesWorkModule, accountModule],
  providers: [
    {
      provide: STRAVA_EVENTS,
      inject: [LiveChanges, Account],
      useFactory: (changes: LiveChanges, account: Account): StravaEvents => ({
        activityChanged: (...event) => changes.activityChanged(...event),
        activityDeleted: (...event) => changes.activityDeleted(...event),
        deauthorized: (athleteId) => account.deauthorized(athleteId, 'strava'),
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

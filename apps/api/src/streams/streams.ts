import { BackfillModule } from '#backfill';
import { StravaModule, StravaStreams } from '#strava';
import { StreamsModule } from '#streams';

export const streamsModule = StreamsModule.reading(StravaStreams, StravaModule);
export const backfillModule = BackfillModule.asking(streamsModule);

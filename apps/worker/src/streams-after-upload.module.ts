import { Module } from '@nestjs/common';
import { ActivitiesWorkModule, Uploads } from '#activities';
import { StreamAttempts, StreamsModule } from '#streams';

/** Fetches the streams of an activity as soon as its upload is known. */
@Module({ imports: [ActivitiesWorkModule, StreamsModule] })
export class StreamsAfterUploadModule {
  constructor(uploads: Uploads, streams: StreamAttempts) {
    uploads.register(streams);
  }
}

import { JobsModule } from '#jobs';
import { RunShapeModule, RunShapeProcessor } from '#run-shape';
import { SettledStreams } from '#streams';
import { PlannedWriteBacks, WriteBackModule } from '#write-back';
import { streamsModule } from '../streams/streams.js';

export const writeBackModule = WriteBackModule.working();

/** What is done with activities. Another processor is bound here: docs/how-to-add-a-processor.md. */
export const processingModule = JobsModule.working(RunShapeProcessor, RunShapeModule.with(streamsModule), {
  newActivities: SettledStreams,
  listener: PlannedWriteBacks,
  from: [streamsModule, writeBackModule],
});

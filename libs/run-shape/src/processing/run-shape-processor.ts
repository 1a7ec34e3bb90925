import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ActivityHistory } from '#activities';
import {
  CannotBeProcessed,
  type ProcessorNotNow,
  type ProcessingRequest,
  type Processor,
  type ProcessorOutput,
} from '#processing';
import { TIME_SCALE, type TimeScale } from '#platform';
import { Recordings, type StoredRecording } from '#streams';
import { usualOf } from '../facts.js';
import { ShapeMaker } from './shape-maker.js';

// More activities would reach back to a time when the athlete's fitness was different.
const EARLIER = 200;
// The runtime tries the job again as soon as the streams are stored. Without streams it tries again after this delay.
const STREAMS_RETRY_MS = 5 * 60_000;

/**
 * The built-in processor. It computes the shape of an activity from the recording and from earlier runs of the athlete. While
 * streams are expected it answers `notNow`. If the vendor has no streams, the shape is `unrecorded`.
 */
@Injectable()
export class RunShapeProcessor implements Processor {
  readonly name = 'run-shape';

  constructor(
    private readonly history: ActivityHistory,
    private readonly recordings: Recordings,
    private readonly shapes: ShapeMaker,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  async process(
    { activityId }: ProcessingRequest,
    signal: AbortSignal,
  ): Promise<ProcessorOutput | ProcessorNotNow> {
    const [facts, recording] = await Promise.all([
      this.history.facts(activityId),
      this.recordings.find(activityId),
    ]);
    if (!facts || !recording) throw new CannotBeProcessed('The activity is gone');
    if (isExpected(recording))
      return { notNow: { waitsFor: 'streams', retryAfterMs: this.scale.wait(STREAMS_RETRY_MS) } };
    const body = bodyOf(recording);
    const usual = usualOf(await this.history.earlier(activityId, EARLIER));
    const shape = await this.shapes.make({ body, facts: { ...facts, usual } }, signal);
    return {
      profileId: shape.profile,
      title: shape.title,
      descriptionHash: createHash('sha256').update(shape.description).digest('hex'),
      result: { ...shape },
    };
  }
}

function isExpected({ body, isComing }: StoredRecording): boolean {
  return !body && isComing;
}

/** Null if the vendor has no streams (`unavailable`), because nothing was recorded. */
function bodyOf({ status, error, body }: StoredRecording): Buffer | null {
  if (body) return body;
  if (status === 'unavailable') return null;
  throw new CannotBeProcessed(
    `Its streams could not be fetched (${error ?? status}); it is processed automatically once they are fetched after a reset`,
  );
}

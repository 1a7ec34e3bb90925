import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ActivityHistory } from '#activities';
import { CannotBeProcessed, type ProcessingRequest, type Processor, type ProcessorOutput } from '#jobs';
import { Recordings, type StoredRecording } from '#streams';
import { usualOf } from '../usual.js';
import { ShapeMaker } from './shape-maker.js';

// More go back further than form lasts.
const EARLIER = 200;

/** What an activity was, from what was recorded of it and what is usual for its athlete. */
@Injectable()
export class RunShapeProcessor implements Processor {
  readonly name = 'run-shape';

  constructor(
    private readonly history: ActivityHistory,
    private readonly recordings: Recordings,
    private readonly shapes: ShapeMaker,
  ) {}

  async process({ activityId }: ProcessingRequest, signal: AbortSignal): Promise<ProcessorOutput> {
    const [facts, recording] = await Promise.all([
      this.history.facts(activityId),
      this.recordings.find(activityId),
    ]);
    if (!facts || !recording) throw new CannotBeProcessed('The activity is gone');
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

/** Nothing was recorded of what is `unavailable`; what is only not here yet is waited for. */
function bodyOf({ status, error, body }: StoredRecording): Buffer | null {
  if (body) return body;
  if (status === 'unavailable') return null;
  throw new StreamsNotHere(error ? `${status}: ${error}` : status);
}

/** Tried again a few times; when they come after that, the activity is processed by itself. */
export class StreamsNotHere extends Error {
  override readonly name = 'StreamsNotHere';
  constructor(why: string) {
    super(`Its streams are not here yet (${why})`);
  }
}

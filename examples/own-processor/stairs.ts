import { Injectable, Module } from '@nestjs/common';
import { ActivitiesModule, ActivityHistory } from '#activities';
import {
  CannotBeProcessed,
  ProcessingBindings,
  type ProcessingRequest,
  type Processor,
  type ProcessorOutput,
} from '#processing';

const STOREY_M = 3;
const MANY = 30;

/** Converts an activity's elevation gain to storeys. */
@Injectable()
export class StairsProcessor implements Processor {
  readonly name = 'stairs';

  constructor(private readonly history: ActivityHistory) {}

  async process({ activityId }: ProcessingRequest): Promise<ProcessorOutput> {
    const facts = await this.history.facts(activityId);
    // CannotBeProcessed ends the job. After any other error it is retried.
    if (!facts) throw new CannotBeProcessed('The activity is gone');
    const storeys = Math.round(facts.elevation_gain_m / STOREY_M);
    return {
      profileId: storeys >= MANY ? 'tower' : 'house',
      title: `${storeys} storeys`,
      result: { storeys },
    };
  }
}

@Module({ imports: [ActivitiesModule], providers: [StairsProcessor] })
export class StairsModule {
  constructor(bindings: ProcessingBindings, processor: StairsProcessor) {
    bindings.processor.register(processor);
  }
}

import { Injectable, Module } from '@nestjs/common';
import { ActivitiesModule, ActivityHistory } from '#activities';
import { CannotBeProcessed, type ProcessingRequest, type Processor, type ProcessorOutput } from '#jobs';

const STOREY_M = 3;
const MANY = 30;

/** Says what an activity's climbing would have been in a staircase. */
@Injectable()
export class StairsProcessor implements Processor {
  readonly name = 'stairs';

  constructor(private readonly history: ActivityHistory) {}

  async process({ activityId }: ProcessingRequest): Promise<ProcessorOutput> {
    const facts = await this.history.facts(activityId);
    // Whatever else it throws is tried again.
    if (!facts) throw new CannotBeProcessed('The activity is gone');
    const storeys = Math.round(facts.elevation_gain_m / STOREY_M);
    return {
      profileId: storeys >= MANY ? 'tower' : 'house',
      title: `${storeys} storeys`,
      result: { storeys },
    };
  }
}

@Module({ imports: [ActivitiesModule], providers: [StairsProcessor], exports: [StairsProcessor] })
export class StairsModule {}

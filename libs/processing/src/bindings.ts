import { Injectable } from '@nestjs/common';
import { Registration } from '#platform';
import { type NewActivities } from './discovery/discovery.js';
import { type RunListener } from './lifecycle/run.js';
import { type Processor } from './processor.js';

/** The runtime calls these implementations. Modules of the worker register them in their constructors. */
@Injectable()
export class ProcessingBindings {
  /** Required. */
  readonly processor = new Registration<Processor>('processor of activities');
  /** Without it, only requested activities are processed. */
  readonly newActivities = new Registration<NewActivities>('source of new activities');
  /** Called when runs succeed, in the transaction that ends them. */
  readonly runListener = new Registration<RunListener>('listener to runs');
}

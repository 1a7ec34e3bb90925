import { Module } from '@nestjs/common';
import { ActivitiesModule } from '#activities';
import { ProcessingBindings } from '#processing';
import { StreamsModule } from '#streams';
import { RunShapeProcessor } from './processing/run-shape-processor.js';
import { ShapeMaker } from './processing/shape-maker.js';

/** For the worker: the built-in processor. */
@Module({ imports: [ActivitiesModule, StreamsModule], providers: [RunShapeProcessor, ShapeMaker] })
export class RunShapeModule {
  constructor(bindings: ProcessingBindings, processor: RunShapeProcessor) {
    bindings.processor.register(processor);
  }
}

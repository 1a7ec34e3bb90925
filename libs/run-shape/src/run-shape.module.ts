import { type DynamicModule, Module } from '@nestjs/common';
import { ActivitiesModule } from '#activities';
import { RunShapeProcessor } from './processing/run-shape-processor.js';
import { ShapeMaker } from './processing/shape-maker.js';

@Module({})
export class RunShapeModule {
  /** `streams`: as the app uses them, for work. */
  static with(streams: DynamicModule): DynamicModule {
    return {
      module: RunShapeModule,
      imports: [ActivitiesModule, streams],
      providers: [RunShapeProcessor, ShapeMaker],
      exports: [RunShapeProcessor],
    };
  }
}

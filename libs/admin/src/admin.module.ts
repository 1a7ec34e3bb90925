import { type DynamicModule, Module } from '@nestjs/common';
import { RateLimitModule } from '#rate-limit';
import { Observability } from './observability.js';
import { Operations } from './operations.js';

/** `features`: the modules of streams and backfill, as the app uses them. */
@Module({})
export class AdminModule {
  static of(...features: DynamicModule[]): DynamicModule {
    return {
      module: AdminModule,
      imports: [RateLimitModule, ...features],
      providers: [Observability, Operations],
      exports: [Observability, Operations],
    };
  }
}

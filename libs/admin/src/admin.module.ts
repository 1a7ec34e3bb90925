import { type DynamicModule, Module } from '@nestjs/common';
import { RateLimitModule } from '#rate-limit';
import { OperatorActions } from '#platform';
import { DeadLetterOffice } from './dead-letter-office.js';
import { Observability } from './observability.js';
import { Operations } from './operations.js';

const views = [DeadLetterOffice, Observability, Operations];

/** `features`: the modules of streams and backfill, as the app uses them. */
@Module({})
export class AdminModule {
  static of(...features: DynamicModule[]): DynamicModule {
    return {
      module: AdminModule,
      imports: [RateLimitModule, ...features],
      providers: [...views, OperatorActions],
      exports: views,
    };
  }
}

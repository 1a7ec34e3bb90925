import { Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { ErrorFilter } from './error.filter.js';
import { validationPipe } from './validation.js';

/** What every HTTP process answers alike: errors in one shape, input checked against its class. */
@Module({
  providers: [
    { provide: APP_FILTER, useClass: ErrorFilter },
    { provide: APP_PIPE, useFactory: validationPipe },
  ],
})
export class EdgeModule {}

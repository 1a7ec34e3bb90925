import { Module } from '@nestjs/common';
import { RateLimitModule } from '#rate-limit';
import { Observability } from './observability.js';

@Module({ imports: [RateLimitModule], providers: [Observability], exports: [Observability] })
export class AdminModule {}

import { Module } from '@nestjs/common';
import { RateLimitModule } from '#rate-limit';
import { Housekeeping } from './housekeeping.js';

@Module({ imports: [RateLimitModule], providers: [Housekeeping] })
export class HousekeepingModule {}

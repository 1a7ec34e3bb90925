import { Module } from '@nestjs/common';
import { RateLimitModule } from '#rate-limit';
import { VENDOR_IDS, VENDORS } from './registry.js';

const rateLimitModule = RateLimitModule.for(VENDOR_IDS.map((id) => VENDORS[id].limits));

/** Provides `Budgets` with every vendor's budget. */
@Module({ imports: [rateLimitModule], exports: [rateLimitModule] })
export class BudgetsModule {}

import { Module } from '@nestjs/common';
import { BudgetsModule } from './budgets.module.js';
import { VendorCallers } from './callers.js';
import { Sources } from './sources.js';

/** Calls to all vendors. Another module of the app provides TOKENS globally. */
@Module({
  imports: [BudgetsModule],
  providers: [VendorCallers, Sources],
  exports: [VendorCallers, Sources],
})
export class VendorsModule {}

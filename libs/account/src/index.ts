export { Account } from './account.js';
export { AccountExport } from './export.js';
export { AccountModule, AccountWorkModule } from './account.module.js';
export { ownRecords as accountRecords } from './own-records.js';
export { AccountBindings, type Departure, type PersonalRecords, type Remains } from './personal-records.js';
export { Receipts } from './receipts.js';

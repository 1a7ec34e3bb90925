export { Account } from './account.js';
export { AccountExport } from './export.js';
export { AccountModule } from './account.module.js';
export { type PersonalRecords } from './personal-records.js';
export { Receipts, type ReceiptView } from './receipts.js';

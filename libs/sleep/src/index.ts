export { isCalendarDate } from './contract/calendar-date.js';
export { sleepNormalizedStored, type SleepNormalizedStored } from './contract/sleep-normalized-stored.js';
export { sleepRawReceived, type SleepRawReceived } from './contract/sleep-raw-received.js';
export { sleepRemoved, type SleepRemoved } from './contract/sleep-removed.js';
export { SleepIngest } from './ingest/sleep-ingest.js';
export { VendorInbox } from './native/vendor-inbox.js';
export { Nights, type NightPage, type NightView } from './nights/nights.js';
export { sleepRecords } from './records/sleep-records.js';
export { SleepModule, SleepWorkModule } from './sleep.module.js';

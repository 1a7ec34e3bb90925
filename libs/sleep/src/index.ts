export { isCalendarDate } from './contract/calendar-date.js';
export { SleepIngest } from './ingest/sleep-ingest.js';
export { NightRecords, RECORD_REASONS } from './nights/night-records.js';
export { SLEEP_CONSUMERS } from './normalise/normaliser.js';
export { Nights } from './nights/nights.js';
export { SleepRemains } from './records/sleep-remains.js';
export { sleepRecords } from './records/sleep-records.js';
export { SleepModule, SleepWorkModule } from './sleep.module.js';

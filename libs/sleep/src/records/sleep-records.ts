import { NightRecords } from './night-records.js';
import { IngestedSleepRecords, OuraSleepRecords, WhoopSleepRecords } from './session-records.js';

export const sleepRecords = [NightRecords, IngestedSleepRecords, OuraSleepRecords, WhoopSleepRecords];

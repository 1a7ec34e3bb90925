export { WriteBackRecords } from './personal-records.js';
export { PlannedWriteBacks } from './planned-write-backs.js';
export { WriteBackModule } from './write-back.module.js';
export { WriteBackStore, type WriteBackView } from './write-back-store.js';

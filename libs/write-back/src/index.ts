export { WriteBackRecords } from './personal-records.js';
export { WriteBackModule, WriteBackWorkModule } from './write-back.module.js';
export { WriteBackStore } from './write-back-store.js';

export {
  Activities,
  type ActivityDetailView,
  type ActivityView,
  type Page,
  type Range,
} from './activities.js';
export { ActivitiesModule, ActivitiesWorkModule } from './activities.module.js';
export { type ActivityFacts, ActivityHistory, type EarlierActivity } from './activity-history.js';
export { IMPORT_TYPES, type ImportType } from './imports/import-job.js';
export { ImportNews } from './imports/import-news.js';
export { ImportJobs } from './imports/import-jobs.js';
export { Imports } from './imports/imports.js';
export { type ImportView } from './imports/import-view.js';
export { ImportWatch } from './imports/import-watch.js';
export { LiveChanges } from './live-changes.js';
export { personalRecords } from './personal-records.js';

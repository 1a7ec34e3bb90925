export { type FoundActivity, type NewActivities } from './discovery/new-activities.js';
export { type Bindings, JobsModule } from './jobs.module.js';
export {
  type ActivityState,
  type Enqueued,
  type Job,
  JOB_STATUSES,
  type JobRequest,
  type JobStatus,
  type JobWithRuns,
  type RequestKind,
  type RunStatus,
  type RunView,
} from './lifecycle/job.js';
export { JobList, type JobPage, type ListedJob, type WantedJobs } from './lifecycle/job-list.js';
export { JobFinished } from './lifecycle/jobs.errors.js';
export { Jobs } from './lifecycle/jobs.js';
export { ManualRequests } from './lifecycle/manual-requests.js';
export { type Claim, type EndedRun, type Ending, type Expired, type Run } from './lifecycle/run.js';
export { type RunListener } from './lifecycle/run-listener.js';
export { Runs } from './lifecycle/runs.js';
export { processingRecords } from './personal-records.js';
export {
  CannotBeProcessed,
  type ProcessingRequest,
  PROCESSOR,
  type Processor,
  type ProcessorOutput,
} from './processor.js';
export { type ConfigSnapshot, ConfigSnapshots, type SnapshotPage } from './settings/config-snapshots.js';

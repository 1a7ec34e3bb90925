export { ProcessingBindings } from './bindings.js';
export { type NewActivities } from './discovery/discovery.js';
export { JobTimeline } from './lifecycle/job-timeline.js';
export { JobList } from './lifecycle/job-list.js';
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
} from './lifecycle/job.js';
export { JobFinished, Jobs } from './lifecycle/jobs.js';
export { ManualRequests } from './lifecycle/manual-requests.js';
export {
  type EndedRun,
  type ExpiredJob,
  type Run,
  type RunClaim,
  type RunKey,
  type RunListener,
  type RunOutcome,
} from './lifecycle/run.js';
export { Runs } from './lifecycle/runs.js';
export { processingRecords } from './personal-records.js';
export { ProcessingModule, ProcessingWorkModule } from './processing.module.js';
export {
  CannotBeProcessed,
  type ProcessingRequest,
  type Processor,
  type ProcessorNotNow,
  type ProcessorOutput,
} from './processor.js';
export { ConfigSnapshots } from './settings/config-snapshots.js';

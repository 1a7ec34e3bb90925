export { JobsModule } from './jobs.module.js';
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
export { JobFinished } from './lifecycle/jobs.errors.js';
export { Jobs } from './lifecycle/jobs.js';
export { type Claim, type EndedRun, type Ending, type Expired, type Run } from './lifecycle/run.js';
export { Runs } from './lifecycle/runs.js';
export {
  CannotBeProcessed,
  type ProcessingRequest,
  PROCESSOR,
  type Processor,
  type ProcessorOutput,
} from './processor.js';
export { ConfigSnapshots } from './settings/config-snapshots.js';

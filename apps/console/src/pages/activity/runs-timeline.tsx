import { type Schema } from '../../app/api.js';
import { requestInWords } from '../../format/jobs.js';
import { counted } from '../../format/numbers.js';
import { spell } from '../../format/time.js';
import { Badge, toneOf } from '../../parts/badge.js';
import { Time, useNow } from '../../parts/time.js';

type TimelineJob = Schema<'TimelineJobAnswer'>;

const WIDTH = 600;
const HEIGHT = 22;
const NARROWEST = 3;

/** Jobs of an activity, newest first. Each line runs from the request to the end of its own job, since jobs are days apart and take less than a second. */
export function RunsTimeline({ jobs }: { readonly jobs: readonly TimelineJob[] }) {
  return (
    <ol className="jobs">
      {jobs.map((job) => (
        <Job key={job.job_id} job={job} />
      ))}
    </ol>
  );
}

function Job({ job }: { readonly job: TimelineJob }) {
  const now = useNow().getTime();
  const begin = new Date(job.requested_at).getTime();
  const lastRunEnds = job.runs.map((run) => timeOf(run.finished_at) ?? now);
  const end = Math.max(
    begin + 1,
    timeOf(job.finished_at) ?? (isOver(job) ? Math.max(begin, ...lastRunEnds) : now),
  );
  const place = (at: number) => ((at - begin) / (end - begin)) * WIDTH;
  return (
    <li>
      <div className="job-head">
        <Badge state={job.status} />
        <span>
          {requestInWords(job.request_kind)}, <Time at={new Date(begin).toISOString()} />
        </span>
        <span className="job-length">
          {counted(job.runs.length, 'run')} in {lengthOf(end - begin)}
        </span>
      </div>
      <svg
        className="job-line"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Runs of the job: ${job.runs.map((run) => `${run.attempt_number} ${run.status.replaceAll('_', ' ')}`).join(', ') || 'none yet'}`}
      >
        <line x1={0} x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
        {job.runs.map((run, index) => {
          const from = place(timeOf(run.started_at) ?? begin);
          const width = Math.max(NARROWEST, place(lastRunEnds[index] ?? end) - from);
          return (
            <rect
              key={run.run_id}
              className={`tone-${toneOf(run.status)}`}
              x={Math.min(from, WIDTH - width)}
              width={width}
              y={3}
              height={HEIGHT - 6}
            >
              <title>
                {`Run ${run.attempt_number}: ${run.status.replaceAll('_', ' ')}, ${lengthOf((lastRunEnds[index] ?? end) - (timeOf(run.started_at) ?? begin))}${run.error ? `, ${run.error}` : ''}`}
              </title>
            </rect>
          );
        })}
      </svg>
      {job.waits_for && <p className="job-note">It waits for {job.waits_for.replaceAll('_', ' ')}.</p>}
      {job.last_error && <p className="job-note note-bad">{job.last_error}</p>}
    </li>
  );
}

const isOver = ({ status }: TimelineJob) => ['succeeded', 'failed_permanent', 'cancelled'].includes(status);
const timeOf = (at: string | null | undefined) => (at ? new Date(at).getTime() : undefined);
const lengthOf = (milliseconds: number) =>
  milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : spell(milliseconds);

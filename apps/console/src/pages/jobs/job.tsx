import { useQuery } from '@tanstack/react-query';
import { answerOf, api, type Schema } from '../../app/api.js';
import { shortId } from '../../format/ids.js';
import { requestInWords } from '../../format/jobs.js';
import { count } from '../../format/numbers.js';
import { spell } from '../../format/time.js';
import { Badge } from '../../parts/badge.js';
import { Drawer } from '../../parts/drawer.js';
import { ActivityLink } from '../../parts/links.js';
import { Facts } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { Time } from '../../parts/time.js';
import './job.css';

interface JobProps {
  readonly jobId: string;
  readonly activityId: string;
  readonly onClose: () => void;
}

/** One job with its runs. An operator's request for the job itself would be noted in the audit log; that for its activity is not. */
export function Job({ jobId, activityId, onClose }: JobProps) {
  const query = useQuery({
    queryKey: ['admin-activity', activityId],
    queryFn: () => answerOf(api.GET('/admin/activities/{id}', { params: { path: { id: activityId } } })),
    meta: { changes: ['activity.*'] },
  });
  return (
    <Drawer title={`Job ${shortId(jobId)}`} onClose={onClose}>
      <Loaded query={query} lines={8}>
        {(activity) => {
          const job = activity.jobs.find((one) => one.job_id === jobId);
          if (!job)
            return (
              <Empty title="This job is not among the newest 20 of its activity">
                <ActivityLink athleteId={activity.athlete_id} activityId={activityId}>
                  {activity.name}
                </ActivityLink>
              </Empty>
            );
          return (
            <>
              <Facts
                facts={[
                  ['State', <Badge key="state" state={job.status} />],
                  [
                    'Activity',
                    <ActivityLink key="activity" athleteId={activity.athlete_id} activityId={activityId}>
                      {activity.name}
                    </ActivityLink>,
                  ],
                  ['Job', <code key="job">{jobId}</code>],
                  ['Request', requestInWords(job.request_kind)],
                  ['Made by', job.requested_by],
                  ['Attempts', `${count(job.attempt_count)} of ${count(job.max_attempts)}`],
                  ['Requested', <Time key="requested" at={job.requested_at} />],
                  ['Finished', <Time key="finished" at={job.finished_at} />],
                  ...(job.waits_for ? [['Waits for', job.waits_for] as const] : []),
                  ...(job.last_error ? [['Last error', job.last_error] as const] : []),
                ]}
              />
              <Runs runs={job.runs} />
            </>
          );
        }}
      </Loaded>
    </Drawer>
  );
}

function Runs({ runs }: { readonly runs: ReadonlyArray<Schema<'RunAnswer'>> }) {
  return (
    <section>
      <h3>Runs</h3>
      {runs.length === 0 && <p className="hint">The job has not been started.</p>}
      <ol className="runs">
        {runs.map((run) => (
          <li key={run.run_id}>
            <span className="run-number">{run.attempt_number}</span>
            <Badge state={run.status} />
            <span>
              <Time at={run.started_at} />
            </span>
            <span className="hint">{tookOf(run)}</span>
            {run.error && <p className="note-bad">{run.error}</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}

const SHORT_MS = 1000;

function tookOf({ started_at, finished_at }: Schema<'RunAnswer'>): string {
  if (!finished_at) return 'running';
  const milliseconds = new Date(finished_at).getTime() - new Date(started_at).getTime();
  return milliseconds < SHORT_MS ? `${count(milliseconds)} ms` : spell(milliseconds);
}

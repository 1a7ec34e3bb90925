import { answerOf, api, onBehalfOf } from '../../app/api.js';
import { ActionButton } from '../../parts/action-button.js';
import { Badge } from '../../parts/badge.js';
import { Card, Facts } from '../../parts/page.js';
import { Empty } from '../../parts/states.js';
import { Time } from '../../parts/time.js';
import { ACTIVITY_KEY, type State } from './queries.js';
import { RunsTimeline } from './runs-timeline.js';

interface ProcessingProps {
  readonly state: State;
  readonly athleteId: string | undefined;
}

/** The activity's newest jobs with their runs, and what the last one wrote. */
export function Processing({ state, athleteId }: ProcessingProps) {
  const { activity_id: id, write_back: writeBack, jobs = [] } = state;
  return (
    <Card title="Processing" aside={state.state && <Badge state={state.state} />}>
      {jobs.length > 0 ? <RunsTimeline jobs={jobs} /> : <NoJobs />}
      <Facts
        facts={[
          ['Title', state.last_title ?? '–'],
          ...(state.last_error ? [['Error', state.last_error] as const] : []),
          ...(state.next_attempt_at
            ? [['Next attempt', <Time key="next" at={state.next_attempt_at} />] as const]
            : []),
          ['Updated', <Time key="updated" at={state.updated_at} />],
          ...(writeBack
            ? [
                [
                  'Write-back',
                  `${writeBack.status}${writeBack.reason ? `: ${writeBack.reason}` : ''}`,
                ] as const,
              ]
            : []),
        ]}
      />
      <ActionButton
        label="Process again"
        run={async () => {
          const { status } = await answerOf(
            api.POST('/v1/activities/{id}/process', { ...onBehalfOf(athleteId), params: { path: { id } } }),
          );
          return `A job is ${status}.`;
        }}
        refreshes={[ACTIVITY_KEY]}
      />
    </Card>
  );
}

function NoJobs() {
  return (
    <Empty title="There is no job yet">
      A job begins by itself when the activity is new and processing is enabled, or by the button below.
    </Empty>
  );
}

import { useQuery } from '@tanstack/react-query';
import { answerOf, api, type Schema } from '../../app/api.js';
import { observabilityQuery } from '../../app/observability.js';
import { count, counted } from '../../format/numbers.js';
import { leftOf } from '../../format/stream-counts.js';
import { ActionButton } from '../../parts/action-button.js';
import { Badge } from '../../parts/badge.js';
import { Bar } from '../../parts/bar.js';
import { Card } from '../../parts/page.js';
import { Empty } from '../../parts/states.js';
import { PauseButton } from './pause-button.js';
import { Progress } from './progress.js';
import { streamParts } from './stream-parts.js';

interface BackfillCardProps {
  readonly athleteId: string;
  readonly backfill: Schema<'BackfillStateAnswer'> | null;
}

/** How many of the athlete's streams are stored, and when the rest is. Backfills are paused for all athletes at once. */
export function BackfillCard({ athleteId, backfill }: BackfillCardProps) {
  const { data: state } = useQuery(observabilityQuery);
  const isPaused = state?.backfills_paused ?? false;
  if (!backfill)
    return (
      <Card title="Backfill">
        <Empty title="There are no streams to fetch">
          A backfill fetches the streams of imported activities. It begins after the import.
        </Empty>
      </Card>
    );
  const left = leftOf(backfill);
  return (
    <Card
      title="Backfill"
      aside={left === 0 ? <Badge state="completed" /> : <Badge state={isPaused ? 'paused' : 'running'} />}
    >
      <Bar label="Streams of this athlete" parts={streamParts(backfill)} hasLegend />
      <p>
        {left === 0 ? (
          `Nothing is left to fetch${backfill.failed > 0 ? `, but ${count(backfill.failed)} failed` : ''}.`
        ) : (
          <>
            {counted(left, 'stream')} left
            <Progress lead=": " doneBy={backfill.eta} isPaused={isPaused} />.
          </>
        )}
      </p>
      <div className="actions">
        <ActionButton
          label="Continue now"
          isDisabled={left === 0 || isPaused}
          run={async () => {
            await answerOf(
              api.POST('/admin/athletes/{id}/backfill', { params: { path: { id: athleteId } } }),
            );
            return 'Queued';
          }}
          refreshes={[['athlete', athleteId], observabilityQuery.queryKey]}
        />
        {backfill.failed > 0 && (
          <ActionButton
            label="Try failed ones again"
            run={async () => {
              await answerOf(api.POST('/admin/streams/reset', { body: { athlete_id: athleteId } }));
              return 'A worker resets them';
            }}
            refreshes={[['athlete', athleteId], ['failures'], observabilityQuery.queryKey]}
          />
        )}
        <PauseButton isPaused={isPaused} />
      </div>
    </Card>
  );
}

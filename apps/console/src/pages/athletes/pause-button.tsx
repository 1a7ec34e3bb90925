import { answerOf, api } from '../../app/api.js';
import { observabilityQuery } from '../../app/observability.js';
import { ActionButton } from '../../parts/action-button.js';

/** Pauses or resumes the backfills of all athletes. Live updates and imports go on. */
export function PauseButton({ isPaused }: { readonly isPaused: boolean }) {
  const path = isPaused ? '/admin/backfills/resume' : '/admin/backfills/pause';
  return (
    <ActionButton
      label={isPaused ? 'Resume all backfills' : 'Pause all backfills'}
      tone={isPaused ? 'main' : 'normal'}
      run={async () => {
        await answerOf(api.POST(path));
      }}
      refreshes={[observabilityQuery.queryKey]}
    />
  );
}

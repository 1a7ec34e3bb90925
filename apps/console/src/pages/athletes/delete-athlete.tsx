import { useNavigate } from '@tanstack/react-router';
import { answerOf, api, onBehalfOf } from '../../app/api.js';
import { ActionButton } from '../../parts/action-button.js';

interface DeleteAthleteProps {
  /** The athlete whom an operator deletes; absent where athletes delete themselves. */
  readonly athleteId?: string;
  /** The id that the person types. */
  readonly phrase: string;
}

/** Deletes an athlete and all their data, and shows the receipt. */
export function DeleteAthlete({ athleteId, phrase }: DeleteAthleteProps) {
  const navigate = useNavigate();
  return (
    <ActionButton
      label={athleteId ? 'Delete the athlete' : 'Delete the account'}
      tone="danger"
      confirm={{
        title: athleteId ? 'Delete this athlete' : 'Delete your account',
        phrase,
        text: 'All vendors are disconnected, and all activities, streams, nights and photos are deleted. This cannot be undone. A receipt says what was deleted.',
      }}
      run={async () => {
        const { receipt_id } = await answerOf(api.DELETE('/v1/account', onBehalfOf(athleteId)));
        await navigate({ to: '/receipts/$id', params: { id: receipt_id } });
      }}
      refreshes={[['athletes'], ['receipts']]}
    />
  );
}

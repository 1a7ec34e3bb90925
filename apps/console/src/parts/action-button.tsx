import { type ReactNode, useState } from 'react';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { Confirm } from './confirm.js';
import { FailedLine } from './states.js';

interface ActionButtonProps {
  /** The button says what it does: "Pause backfills". */
  readonly label: string;
  /** Sends the request. A text that it returns is shown as the outcome: "12 streams reset". */
  readonly run: () => Promise<string | void>;
  /** Queries that are old afterwards, by the beginning of their keys. */
  readonly refreshes?: readonly QueryKey[];
  readonly tone?: 'main' | 'normal' | 'danger';
  /** If set, the person first types `phrase` into a dialog. For actions that cannot be undone. */
  readonly confirm?: { readonly title: string; readonly phrase: string; readonly text: ReactNode };
  readonly isDisabled?: boolean;
}

/** A button for a write: shows that it runs, its outcome or its problem. */
export function ActionButton({
  label,
  run,
  refreshes = [],
  tone = 'normal',
  confirm,
  isDisabled = false,
}: ActionButtonProps) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const action = useMutation({
    mutationFn: run,
    onSuccess: () => Promise.all(refreshes.map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
  function press(): void {
    if (action.isPending) return;
    if (confirm) setAsking(true);
    else action.mutate();
  }
  return (
    <span className="action">
      <button
        type="button"
        className={`button button-${tone}`}
        disabled={isDisabled}
        // A disabled button loses the focus, and then a person with a keyboard loses their place on the page.
        aria-disabled={action.isPending || undefined}
        onClick={press}
      >
        {label}
      </button>
      {typeof action.data === 'string' && (
        <span className="action-outcome" role="status">
          {action.data}
        </span>
      )}
      {action.error && <FailedLine problem={action.error} />}
      {confirm && isAsking && (
        <Confirm
          {...confirm}
          label={label}
          onConfirm={() => {
            setAsking(false);
            action.mutate();
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </span>
  );
}

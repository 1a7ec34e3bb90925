import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { useModal } from './use-modal.js';

interface ConfirmProps {
  readonly title: string;
  readonly text: ReactNode;
  /** The person types this, usually an id. */
  readonly phrase: string;
  readonly label: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, text, phrase, label, onConfirm, onClose }: ConfirmProps) {
  const dialog = useModal();
  const [typed, setTyped] = useState('');
  const id = useId();

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (typed.trim() === phrase) onConfirm();
  }

  return (
    <dialog
      ref={dialog}
      className="confirm"
      aria-labelledby={`${id}-title`}
      onClose={({ currentTarget }) => !currentTarget.open && onClose()}
    >
      <form onSubmit={submit}>
        <h2 id={`${id}-title`}>{title}</h2>
        <div>{text}</div>
        <label htmlFor={`${id}-phrase`}>
          Type <code>{phrase}</code> to confirm
        </label>
        <input
          id={`${id}-phrase`}
          data-first-focus
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <div className="actions">
          <button className="button" type="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button button-danger" type="submit" disabled={typed.trim() !== phrase}>
            {label}
          </button>
        </div>
      </form>
    </dialog>
  );
}

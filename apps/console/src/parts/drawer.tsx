import { type ReactNode, useId } from 'react';
import { useModal } from './use-modal.js';

interface DrawerProps {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** One item of a list, beside the list. The page keeps its id in a search parameter, so that the address is a link to it. Escape closes it. */
export function Drawer({ title, actions, onClose, children }: DrawerProps) {
  const dialog = useModal();
  const id = useId();
  return (
    <dialog
      ref={dialog}
      className="drawer"
      aria-labelledby={id}
      // The close event of a dialog inside, such as Confirm, bubbles in React.
      onClose={({ target, currentTarget }) => target === currentTarget && !currentTarget.open && onClose()}
      onClick={({ target, currentTarget }) => target === currentTarget && onClose()}
    >
      <div className="drawer-body">
        <header className="drawer-head">
          <h2 id={id}>{title}</h2>
          <button type="button" className="button" onClick={onClose}>
            Close
          </button>
        </header>
        {actions && <div className="actions">{actions}</div>}
        {children}
      </div>
    </dialog>
  );
}

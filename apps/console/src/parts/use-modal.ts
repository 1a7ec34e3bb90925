import { type RefObject, useLayoutEffect, useRef } from 'react';

/**
 * Opens a dialog in front of the page. The browser keeps the focus inside, and Escape closes it. A dialog that React only removes would leave
 * the focus nowhere; one that is closed gives it back to the button that opened it. The element with `data-first-focus` gets the focus first,
 * else the first one that can have it.
 */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  // A layout effect ends while the dialog is still in the document.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    shown?.querySelector<HTMLElement>('[data-first-focus]')?.focus();
    return () => shown?.close();
  }, []);
  return dialog;
}

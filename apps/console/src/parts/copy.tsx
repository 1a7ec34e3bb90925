import { useId, useRef, useState } from 'react';

/** A text that a person takes along. Without access to the clipboard the text is selected instead. */
export function Copy({ label, text }: { readonly label: string; readonly text: string }) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [outcome, setOutcome] = useState('');
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('Copied');
    } catch {
      field.current?.select();
      setOutcome('Selected; copy it with the keyboard');
    }
  }
  return (
    <div className="copy">
      <label htmlFor={id}>{label}</label>
      <input id={id} ref={field} readOnly value={text} onFocus={({ target }) => target.select()} />
      <button type="button" className="button button-main" onClick={() => void copy()}>
        Copy
      </button>
      <span className="action-outcome" role="status">
        {outcome}
      </span>
    </div>
  );
}

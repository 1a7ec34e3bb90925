import { useId } from 'react';

interface ChoiceProps<Value extends string> {
  readonly label: string;
  /** Where the heading beside it says the same. Screen readers still read it. */
  readonly isLabelHidden?: boolean;
  readonly value: Value;
  readonly options: ReadonlyArray<readonly [value: Value, word: string]>;
  readonly onChange: (value: Value) => void;
}

/** One of a few values, all of them visible. */
export function Choice<Value extends string>({
  label,
  isLabelHidden = false,
  value,
  options,
  onChange,
}: ChoiceProps<Value>) {
  const name = useId();
  return (
    <fieldset className="choice">
      <legend className={isLabelHidden ? 'hidden' : undefined}>{label}</legend>
      {options.map(([option, word]) => (
        <label key={option}>
          <input type="radio" name={name} checked={option === value} onChange={() => onChange(option)} />
          <span>{word}</span>
        </label>
      ))}
    </fieldset>
  );
}

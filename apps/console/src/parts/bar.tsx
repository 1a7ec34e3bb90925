import { count } from '../format/numbers.js';
import { type Tone } from './badge.js';

/** A call class has the same colour in bars and charts. */
type CallClass = 'live' | 'import' | 'backfill';

export interface BarPart {
  readonly label: string;
  readonly value: number;
  /** `rest` looks like the empty bar: for what has not begun. */
  readonly tone: Tone | CallClass | 'rest';
}

interface BarMark {
  readonly value: number;
  readonly label: string;
}

interface BarProps {
  readonly label: string;
  readonly parts: readonly BarPart[];
  /** The whole. Without it the parts fill the bar. */
  readonly of?: number;
  /** Lines at these values, such as the ceilings of the classes. */
  readonly marks?: readonly BarMark[];
  /** Lists the parts with their values below the bar. */
  readonly hasLegend?: boolean;
}

/** Parts of a whole, as one line. */
export function Bar({ label, parts, of, marks = [], hasLegend = false }: BarProps) {
  const sum = parts.reduce((total, { value }) => total + value, 0);
  const whole = Math.max(of ?? sum, sum, 1);
  const share = (value: number) => `${(value / whole) * 100}%`;
  const text = parts.map((part) => `${part.label} ${count(part.value)}`).join(', ');
  return (
    <div className="bar-with-legend">
      <div className="bar" role="img" aria-label={`${label}: ${text}, of ${count(whole)}`}>
        {parts
          .filter(({ value }) => value > 0)
          .map((part) => (
            <span
              key={part.label}
              className={`tone-${part.tone}`}
              style={{ width: share(part.value) }}
              title={`${part.label}: ${count(part.value)}`}
            />
          ))}
        {marks.map((mark) => (
          <i key={mark.label} style={{ left: share(Math.min(mark.value, whole)) }} title={mark.label} />
        ))}
      </div>
      {hasLegend && (
        <ul className="legend" aria-hidden="true">
          {parts.map((part) => (
            <li key={part.label} className={`tone-${part.tone}`}>
              {part.label} <b>{count(part.value)}</b>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

import { type Schema } from '../../app/api.js';
import { count, counted } from '../../format/numbers.js';
import { Card } from '../../parts/page.js';
import { Empty } from '../../parts/states.js';
import { Time, useNow } from '../../parts/time.js';
import { type Cause, causesOf, columnOf, totalOf } from './decision-columns.js';
import './decisions.css';

type Minute = Schema<'GateMinuteAnswer'>;

const MINUTES = 60;
const MINUTE_MS = 60_000;
const HEIGHT = 100;
const COLUMN = 10;
const GAP = 2;

/** Decisions of the last hour by cause: one column for each minute, drawn to scale from zero. */
export function Decisions({ minutes }: { readonly minutes: readonly Minute[] }) {
  const now = useNow();
  const first = Math.floor(now.getTime() / MINUTE_MS) - MINUTES + 1;
  const causes = causesOf(minutes);
  const highest = Math.max(1, ...minutes.map((minute) => totalOf(minute)));
  const all = minutes.reduce((sum, minute) => sum + totalOf(minute), 0);
  if (all === 0)
    return (
      <Card title="Decisions of the last hour">
        <Empty title="The gate decided nothing in the last hour">
          Each request for a video is one decision.
        </Empty>
      </Card>
    );
  return (
    <Card title="Decisions of the last hour" aside={counted(all, 'decision')}>
      <figure className="decisions">
        <span className="decisions-top">{count(highest)} a minute</span>
        <svg
          viewBox={`0 0 ${MINUTES * COLUMN} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Decisions by minute: ${counted(all, 'decision')}, at most ${count(highest)} a minute`}
        >
          {minutes.map((minute) => (
            <MinuteColumn
              key={minute.at}
              minute={minute}
              causes={causes}
              x={(Math.floor(new Date(minute.at).getTime() / MINUTE_MS) - first) * COLUMN}
              highest={highest}
            />
          ))}
        </svg>
        <figcaption>
          <Time at={new Date(first * MINUTE_MS).toISOString()} />
          <span>each column is a minute</span>
          <Time at={new Date((first + MINUTES) * MINUTE_MS).toISOString()} />
        </figcaption>
      </figure>
      <ul className="legend">
        {causes.map(({ cause, word, tone }) => (
          <li key={cause} className={`tone-${tone}`}>
            {word} <b>{count(minutes.reduce((sum, minute) => sum + (minute.causes[cause] ?? 0), 0))}</b>
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface MinuteColumnProps {
  readonly minute: Minute;
  readonly causes: readonly Cause[];
  readonly x: number;
  readonly highest: number;
}

function MinuteColumn({ minute, causes, x, highest }: MinuteColumnProps) {
  const parts = columnOf(minute, causes);
  const text = parts.map(({ word, value }) => `${word} ${count(value)}`).join(', ');
  const heightOf = (value: number) => (value / highest) * HEIGHT;
  return (
    <g>
      <title>{`${minute.at.slice(11, 16)} UTC: ${text}`}</title>
      {parts.map(({ cause, tone, value, from }) => (
        <rect
          key={cause}
          className={`tone-${tone}`}
          x={x + GAP / 2}
          y={HEIGHT - heightOf(from + value)}
          width={COLUMN - GAP}
          height={heightOf(value)}
        />
      ))}
    </g>
  );
}

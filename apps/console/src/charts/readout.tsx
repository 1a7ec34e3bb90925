import { useStore } from '../app/store.js';
import { type Channel, extremesOf } from './channel.js';
import { type Figure, Figures } from '../parts/figures.js';
import { type View } from './view.js';

interface ReadoutProps {
  readonly xs: readonly number[];
  readonly xLabel: string;
  readonly xFormat: (x: number) => string;
  readonly channels: readonly Channel[];
  readonly view: View;
}

/** The values under the cursor, or the averages while it is nowhere. `data-value` has each value under the cursor as the API sent it. */
export function Readout({ xs, xLabel, xFormat, channels, view }: ReadoutProps) {
  const index = useStore(view.cursor);
  const x = index === null ? undefined : xs[index];
  return (
    <dl className="readout" aria-live="polite" data-readout data-index={index ?? ''}>
      <div>
        <dt>{xLabel}</dt>
        <dd data-channel="x" data-value={x ?? ''}>
          {x === undefined ? 'average' : xFormat(x)}
        </dd>
      </div>
      {channels.map(({ id, label, values, format }) => {
        const value = index === null ? null : (values[index] ?? null);
        return (
          <div key={id}>
            <dt>{label}</dt>
            <dd data-channel={id} data-value={value ?? ''}>
              {format(index === null ? (extremesOf(values)?.mean ?? null) : value)}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** The charts as a table, for everybody who does not see them, and for exact numbers. */
export function ExtremesTable({ channels }: { readonly channels: readonly Channel[] }) {
  return (
    <Figures
      label="Lowest, average and highest value of each chart"
      columns={EXTREMES}
      rows={channels}
      rowKey={({ id }) => id}
    />
  );
}

const EXTREMES: ReadonlyArray<Figure<Channel>> = [
  { header: 'Recorded', cell: ({ label }) => label },
  ...(['lowest', 'mean', 'highest'] as const).map((which) => ({
    header: { lowest: 'Lowest', mean: 'Average', highest: 'Highest' }[which],
    cell: ({ values, format }: Channel) => format(extremesOf(values)?.[which] ?? null),
  })),
];

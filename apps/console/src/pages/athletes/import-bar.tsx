import { type Schema } from '../../app/api.js';
import { count } from '../../format/numbers.js';
import { toneOf } from '../../parts/badge.js';
import { Bar } from '../../parts/bar.js';
import './import-bar.css';

type Import = Pick<Schema<'ImportAnswer'>, 'activities_imported' | 'activities_total' | 'status'>;

/** How many activities of an import are stored. The total is unknown until the history has been listed. Without anything to count there is no bar. */
export function ImportBar({ item }: { readonly item: Import }) {
  const { activities_imported: stored, activities_total: total, status } = item;
  const isOver = status === 'cancelled' || status === 'failed';
  if (total === 0 || (total === null && isOver)) return null;
  return (
    <span className="import-bar">
      <Bar
        label="Imported activities"
        parts={total === null ? [] : [{ label: 'stored', value: stored, tone: toneOf(status) }]}
        of={total ?? 1}
      />
      <span>{total === null ? count(stored) : `${count(stored)} of ${count(total)}`}</span>
    </span>
  );
}

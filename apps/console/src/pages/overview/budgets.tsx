import { type Schema } from '../../app/api.js';
import { count, percent } from '../../format/numbers.js';
import { limitName, vendorName } from '../../format/vendors.js';
import { Bar, type BarPart } from '../../parts/bar.js';
import { Card } from '../../parts/page.js';
import { Time } from '../../parts/time.js';

type VendorBudget = Schema<'VendorBudgetAnswer'>;
type Counter = VendorBudget['counters'][number];

/** One gauge for each window of each vendor. */
export function Budgets({ budgets }: { readonly budgets: readonly VendorBudget[] }) {
  return (
    <Card title="Vendor limits" aside={<ClassLegend />}>
      <ul className="budgets">
        {budgets.map((budget) => (
          <li key={budget.provider}>
            <div className="budget-vendor">
              <strong>{vendorName(budget.provider)}</strong>
              <small className={budget.rate_429_24h > 0 ? 'note-bad' : undefined}>
                429 in 24 h: {percent(budget.rate_429_24h)}
              </small>
            </div>
            <ul>
              {budget.counters.map((counter) => (
                <Gauge
                  key={`${counter.bucket} ${counter.window}`}
                  vendor={budget.provider}
                  counter={counter}
                />
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function ClassLegend() {
  return (
    <ul className="legend">
      <li className="tone-live">live</li>
      <li className="tone-import">import</li>
      <li className="tone-backfill">backfill</li>
      <li className="tone-quiet">not ours, or counted by the vendor only</li>
      <li className="legend-mark">a class stops here</li>
    </ul>
  );
}

function partsOf({ used, classes }: Counter): BarPart[] {
  const ours = classes.reduce((sum, each) => sum + each.used, 0);
  return [
    ...classes.map((each) => ({ label: each.class, value: each.used, tone: each.class })),
    { label: 'others', value: Math.max(used - ours, 0), tone: 'quiet' },
  ];
}

/** The classes that leave a reserve to more urgent ones, and where each stops. */
function ceilingsOf({ limit, classes }: Counter) {
  return classes
    .filter(({ reserve }) => reserve > 0)
    .map(({ class: name, reserve }) => ({
      name,
      stopsAt: Math.max(limit - reserve, 0),
      reserve: Math.min(reserve, limit),
    }));
}

const sharesOf = (classes: Counter['classes']) =>
  classes.filter(({ used }) => used > 0).map((each) => `${each.class} ${count(each.used)}`);

/** `import and backfill stop at 950`; classes that stop at the same value are named together. */
function stopsOf(ceilings: ReturnType<typeof ceilingsOf>): string[] {
  const values = [...new Set(ceilings.map(({ stopsAt }) => stopsAt))];
  return values.map((value) => {
    const names = ceilings.filter(({ stopsAt }) => stopsAt === value).map(({ name }) => name);
    return `${names.join(' and ')} ${names.length === 1 ? 'stops' : 'stop'} at ${count(value)}`;
  });
}

interface GaugeProps {
  readonly vendor: VendorBudget['provider'];
  readonly counter: Counter;
}

function Gauge({ vendor, counter }: GaugeProps) {
  const { used, limit, remaining, resets_at, closed_until, classes } = counter;
  const name = limitName(counter);
  const ceilings = ceilingsOf(counter);
  return (
    <li className="gauge">
      <span className="gauge-name">{name}</span>
      <Bar
        label={`Calls of ${vendorName(vendor)}, ${name}`}
        parts={partsOf(counter)}
        of={limit}
        marks={ceilings.map((each) => ({
          value: each.stopsAt,
          label: `${each.name} stops at ${count(each.stopsAt)}: ${count(each.reserve)} are kept for more urgent calls`,
        }))}
      />
      <span className={remaining === 0 ? 'gauge-count note-bad' : 'gauge-count'}>
        <b>{count(used)}</b> of {count(limit)}
      </span>
      <span className="gauge-reset">
        {closed_until ? (
          <span className="note-bad" title="The vendor answered 429. No call is made until then.">
            closed, opens <Time at={closed_until} as="relative" />
          </span>
        ) : (
          used > 0 && (
            <>
              resets <Time at={resets_at} as="relative" />
            </>
          )
        )}
      </span>
      <span className="gauge-shares">{[...sharesOf(classes), ...stopsOf(ceilings)].join(' · ')}</span>
    </li>
  );
}

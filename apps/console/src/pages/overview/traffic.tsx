import { lazy, Suspense } from 'react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { answerOf, api, type Schema } from '../../app/api.js';
import { optionOf } from '../../app/search.js';
import { count, counted } from '../../format/numbers.js';
import { spell } from '../../format/time.js';
import { vendorName } from '../../format/vendors.js';
import { Choice } from '../../parts/choice.js';
import { Card } from '../../parts/page.js';
import { Empty, Loaded, Loading } from '../../parts/states.js';

const TrafficChart = lazy(async () => ({ default: (await import('./traffic-chart.js')).TrafficChart }));

const route = getRouteApi('/signed-in/operators/overview');

type Budget = Schema<'VendorBudgetAnswer'>;
type Vendor = Budget['provider'];

// No event names new calls. A bucket of real time lasts 15 min, so that a minute is soon enough; in simulated time it lasts seconds.
const READ_EVERY_MS = 60_000;
const READ_AT_MOST_EVERY_MS = 15_000;
const REAL_BUCKET_MS = 900_000;
const DAY_MS = 86_400_000;

/** The calls of the last 24 hours to one vendor, as a chart. */
export function Traffic({ budgets }: { readonly budgets: readonly Budget[] }) {
  const vendors = budgets.map(({ provider }) => provider);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const vendor = optionOf(search.vendor, vendors) ?? vendors[0];
  if (!vendor) return null;
  const choose = (chosen: Vendor) =>
    void navigate({
      search: { vendor: chosen },
      replace: true,
      resetScroll: false,
    });
  return (
    <Card
      title="Calls of the last 24 h"
      aside={
        <Choice
          label="Vendor"
          isLabelHidden
          value={vendor}
          options={vendors.map((each) => [each, vendorName(each)])}
          onChange={choose}
        />
      }
    >
      <VendorTraffic vendor={vendor} dayEndsAt={dayEndOf(budgets, vendor)} />
    </Card>
  );
}

function dayEndOf(budgets: readonly Budget[], vendor: Vendor): string | undefined {
  const budget = budgets.find(({ provider }) => provider === vendor);
  return budget?.counters.find(({ window }) => window === 'day')?.resets_at;
}

interface VendorTrafficProps {
  readonly vendor: Vendor;
  readonly dayEndsAt: string | undefined;
}

function VendorTraffic({ vendor, dayEndsAt }: VendorTrafficProps) {
  const query = useQuery({
    queryKey: ['traffic', vendor],
    queryFn: () => answerOf(api.GET('/admin/traffic', { params: { query: { vendor } } })),
    meta: { changes: ['overview'] },
    refetchInterval: ({ state }) =>
      Math.min(Math.max(state.data?.bucket_ms ?? 0, READ_AT_MOST_EVERY_MS), READ_EVERY_MS),
  });
  return (
    <Loaded query={query} lines={6}>
      {(traffic) => {
        const total = traffic.buckets.reduce((sum, each) => sum + each.live + each.import + each.backfill, 0);
        if (total === 0)
          return (
            <Empty title={`No call to ${vendorName(vendor)} in the last 24 h`}>
              The chart shows each call of an import, a backfill or a live update as soon as one is made.
            </Empty>
          );
        const refused = traffic.buckets.reduce((sum, each) => sum + each.rate_limited, 0);
        const timesAsFast = Math.round(REAL_BUCKET_MS / traffic.bucket_ms);
        const summary = (
          <>
            {counted(total, 'call')} to {vendorName(vendor)},{' '}
            <span className={refused > 0 ? 'note-bad' : undefined}>
              {refused > 0 ? `${count(refused)} answered 429` : 'none answered 429'}
            </span>
            .{timesAsFast > 1 && ` Time is simulated here: 24 h last ${spell(DAY_MS / timesAsFast)}.`}
          </>
        );
        return (
          <div className="traffic">
            <Suspense fallback={<Loading lines={6} />}>
              <TrafficChart traffic={traffic} summary={summary} dayEndsAt={dayEndsAt} />
            </Suspense>
          </div>
        );
      }}
    </Loaded>
  );
}

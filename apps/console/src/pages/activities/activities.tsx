import { useCallback, useMemo } from 'react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { answerOf, api, onBehalfOf, type Schema } from '../../app/api.js';
import { activityPath, useAthleteId } from '../../app/athlete.js';
import { usePaged } from '../../app/paged.js';
import { useUnits } from '../../app/preferences.js';
import { optionOf, type Search, textOf } from '../../app/search.js';
import { beginningOf, dayOf, plusDays } from '../../format/days.js';
import { covered, effort, meanSpeed, speedKindOf } from '../../format/effort.js';
import { count } from '../../format/numbers.js';
import { duration } from '../../format/time.js';
import { type Units } from '../../format/units.js';
import { vendorName, vendorNames, vendorsWith } from '../../format/vendors.js';
import { Badge } from '../../parts/badge.js';
import { type Filter, Filters } from '../../parts/filters.js';
import { ActivityLink, AthleteLink } from '../../parts/links.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';

type Item = Schema<'ActivityAnswer'>;

// The API's largest page, so that a scroll through 10,000 activities makes 50 requests.
const PAGE_SIZE = 200;
const USUAL_SPORTS = ['Run', 'TrailRun', 'Ride', 'VirtualRide', 'Swim', 'Walk', 'Hike', 'WeightTraining'];

/** All activities of one athlete, newest first. */
export function Activities() {
  const athleteId = useAthleteId();
  const units = useUnits();
  const navigate = useNavigate();
  const filter = filterOf(useSearch({ strict: false }));
  const { query, rows, paging } = usePaged<Item>({
    queryKey: ['activities', athleteId, filter],
    read: (cursor) =>
      answerOf(
        api.GET('/v1/activities', {
          ...onBehalfOf(athleteId),
          params: { query: { ...filter, cursor, limit: PAGE_SIZE } },
        }),
      ),
    meta: { changes: ['activity.*', 'streams.*'], athleteId },
  });
  const columns = useMemo(() => columnsOf(athleteId, units), [athleteId, units]);
  const open = useCallback(
    ({ id }: Item) => void navigate({ href: activityPath(athleteId, id) }),
    [athleteId, navigate],
  );
  const isFiltered = Object.values(filter).some(Boolean);
  return (
    <Page
      title="Activities"
      about={
        athleteId ? (
          <>
            of athlete{' '}
            <AthleteLink athleteId={athleteId}>
              <code>{athleteId}</code>
            </AthleteLink>
          </>
        ) : (
          'All workouts that your vendors have sent.'
        )
      }
    >
      <Filters filters={filters()} />
      <Card
        title="Activities"
        aside={`${count(rows.length)}${paging.hasMore ? ' loaded' : ''}, newest first`}
        isFlush
      >
        <Loaded query={query} lines={12}>
          {() => (
            <Table
              label="Activities"
              columns={columns}
              rows={rows}
              rowId={({ id }) => id}
              onOpen={open}
              paging={paging}
              empty={isFiltered ? <NoMatch /> : <NoActivities isOwn={athleteId === undefined} />}
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

const filters = (): readonly Filter[] => [
  { kind: 'date', name: 'from', label: 'From' },
  { kind: 'date', name: 'to', label: 'To' },
  { kind: 'text', name: 'sport', label: 'Sport', hint: 'Run', suggestions: USUAL_SPORTS },
  {
    kind: 'choice',
    name: 'provider',
    label: 'Vendor',
    options: vendorsWith('activities').map((vendor) => [vendor, vendorName(vendor)] as const),
  },
];

/** Both days count whole; the API's `to` is the first moment that no longer counts. */
function filterOf({ from, to, sport, provider }: Search) {
  const first = dayOf(from);
  const last = dayOf(to);
  return {
    from: first && beginningOf(first),
    to: last && beginningOf(plusDays(last, 1)),
    sport_type: textOf(sport),
    provider: optionOf(provider, vendorsWith('activities')),
  };
}

function columnsOf(athleteId: string | undefined, units: Units): ReadonlyArray<Column<Item>> {
  return [
    {
      id: 'name',
      header: 'Activity',
      sortBy: ({ name }) => name,
      cell: ({ id, name }) => (
        <ActivityLink athleteId={athleteId} activityId={id}>
          {name}
        </ActivityLink>
      ),
    },
    {
      id: 'start',
      header: 'Start',
      width: 170,
      sortBy: ({ start_time }) => start_time,
      cell: ({ start_time }) => <Time at={start_time} />,
      isSecondary: true,
    },
    {
      id: 'sport',
      header: 'Sport',
      width: 130,
      sortBy: ({ sport_type }) => sport_type,
      cell: ({ sport_type }) => sport_type,
      isSecondary: true,
    },
    {
      id: 'vendor',
      header: 'Vendor',
      width: 74,
      sortBy: ({ provider }) => provider,
      cell: ({ provider }) => vendorName(provider),
      isWideOnly: true,
    },
    {
      id: 'distance',
      header: 'Distance',
      width: 96,
      align: 'end',
      sortBy: ({ distance_m }) => distance_m,
      cell: ({ distance_m, sport_type }) =>
        distance_m ? covered(distance_m, speedKindOf(sport_type), units) : '–',
    },
    {
      id: 'time',
      header: 'Moving',
      width: 84,
      align: 'end',
      sortBy: ({ moving_time_s }) => moving_time_s,
      cell: ({ moving_time_s }) => duration(moving_time_s),
      isSecondary: true,
    },
    {
      id: 'speed',
      header: 'Pace, speed',
      width: 116,
      align: 'end',
      sortBy: ({ distance_m, moving_time_s }) => meanSpeed(distance_m, moving_time_s),
      cell: ({ distance_m, moving_time_s, sport_type }) =>
        effort(meanSpeed(distance_m, moving_time_s), speedKindOf(sport_type), units),
      isSecondary: true,
    },
    {
      id: 'heart',
      header: 'Heart rate',
      width: 88,
      align: 'end',
      sortBy: ({ average_heartrate }) => average_heartrate,
      cell: ({ average_heartrate }) => (average_heartrate ? Math.round(average_heartrate) : '–'),
      isWideOnly: true,
    },
    {
      id: 'streams',
      header: 'Streams',
      width: 108,
      sortBy: ({ stream_fetch_status }) => stream_fetch_status,
      cell: ({ stream_fetch_status }) => <Badge state={stream_fetch_status} />,
    },
  ];
}

function NoMatch() {
  return (
    <Empty title="No activity matches these filters">
      The sport must be written as the vendor writes it, such as TrailRun. Both days of a range count.
    </Empty>
  );
}

function NoActivities({ isOwn }: { readonly isOwn: boolean }) {
  return (
    <Empty title="There are no activities yet">
      <p>
        They come from {vendorNames(vendorsWith('activities'), 'conjunction')}: when an account is connected,
        an import lists the earlier activities that the vendor gives, and each new one follows by the vendor’s
        webhook.
      </p>
      {isOwn && <Link to="/connections">Connect a vendor</Link>}
    </Empty>
  );
}

import { answerOf, api, type Schema } from '../../app/api.js';
import { NO_EVENT_POLL_MS } from '../../app/attention.js';
import { usePaged } from '../../app/paged.js';
import { useSearchState } from '../../app/search-state.js';
import { optionOf, textOf } from '../../app/search.js';
import { count } from '../../format/numbers.js';
import { progressSentence } from '../../format/sentences.js';
import { vendorName } from '../../format/vendors.js';
import { Badge, toneOf } from '../../parts/badge.js';
import { Bar } from '../../parts/bar.js';
import { Filters } from '../../parts/filters.js';
import { AthleteLink } from '../../parts/links.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time, useNow } from '../../parts/time.js';

type Import = Schema<'ListedImportAnswer'>;

const STATES = ['queued', 'started', 'rate_limited', 'completed', 'failed', 'cancelled'] as const;

/** Imports of all athletes. */
export function Imports() {
  const [search] = useSearchState();
  const status = optionOf(search.status, STATES);
  const athlete = textOf(search.athlete);
  const { query, rows, paging } = usePaged({
    queryKey: ['imports', status, athlete],
    read: (cursor) => {
      const params = { query: { cursor, status, athlete_id: athlete } };
      return answerOf(api.GET('/admin/imports', { params }));
    },
    // Events tell of the end of an import, not of its progress.
    pollMs: NO_EVENT_POLL_MS,
    meta: { changes: ['import.*', 'athlete.deleted'] },
  });
  const isFiltered = status !== undefined || athlete !== undefined;
  return (
    <Page title="Imports" about="Activities that were fetched from the vendors’ history, by athlete.">
      <Filters
        filters={[
          {
            kind: 'choice',
            name: 'status',
            label: 'State',
            options: STATES.map((state) => [state, state.replaceAll('_', ' ')] as const),
          },
          { kind: 'text', name: 'athlete', label: 'Athlete', hint: 'The whole id' },
        ]}
      />
      <Card title="Imports" aside="newest first" isFlush>
        <Loaded query={query} lines={8}>
          {() => (
            <Table
              label="Imports"
              columns={COLUMNS}
              rows={rows}
              rowId={({ id }) => id}
              paging={paging}
              empty={
                <Empty title={isFiltered ? 'No import matches' : 'There are no imports'}>
                  {isFiltered
                    ? 'Other states and athletes may have some.'
                    : 'An import begins when an athlete connects a vendor, or asks for one.'}
                </Empty>
              }
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

const COLUMNS: ReadonlyArray<Column<Import>> = [
  {
    id: 'athlete',
    header: 'Athlete',
    width: 96,
    cell: ({ athlete_id }) => <AthleteLink athleteId={athlete_id} />,
  },
  {
    id: 'vendor',
    header: 'Vendor',
    width: 164,
    isSecondary: true,
    isWhole: true,
    cell: ({ provider, type }) => `${vendorName(provider)}, ${type === 'full' ? 'all' : 'what is new'}`,
  },
  { id: 'state', header: 'State', width: 112, cell: ({ status }) => <Badge state={status} /> },
  {
    id: 'progress',
    header: 'Progress',
    width: 130,
    isWideOnly: true,
    cell: (one) => <Progress one={one} />,
  },
  {
    id: 'activities',
    header: 'Activities',
    width: 112,
    align: 'end',
    cell: ({ activities_imported, activities_total }) => (
      <>
        <b>{count(activities_imported)}</b>
        {activities_total !== null && ` of ${count(activities_total)}`}
      </>
    ),
  },
  { id: 'message', header: 'Message', isSecondary: true, cell: (one) => <Message one={one} /> },
  {
    id: 'created',
    header: 'Begun',
    width: 116,
    align: 'end',
    isSecondary: true,
    isWhole: true,
    cell: ({ created_at }) => <Time at={created_at} as="relative" />,
  },
];

function Progress({ one: { status, activities_imported, activities_total } }: { readonly one: Import }) {
  if (activities_total === 0) return null;
  return (
    <Bar
      label="Imported activities"
      parts={[{ label: 'imported', value: activities_imported, tone: toneOf(status) }]}
      of={activities_total ?? undefined}
    />
  );
}

function Message({ one: { message, retry_after, eta } }: { readonly one: Import }) {
  const now = useNow();
  // The state stands in a column of its own.
  const text =
    progressSentence({ resumesAt: retry_after, doneBy: eta }, now) || message.replace(/^Completed: /, '');
  return <span title={message}>{text}</span>;
}

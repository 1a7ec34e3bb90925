import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { answerOf, api, type Schema } from '../../app/api.js';
import { usePaged } from '../../app/paged.js';
import { optionOf, type Search } from '../../app/search.js';
import { count } from '../../format/numbers.js';
import { vendorName } from '../../format/vendors.js';
import { Badge, toneOf } from '../../parts/badge.js';
import { Bar } from '../../parts/bar.js';
import { Filters } from '../../parts/filters.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Progress } from './progress.js';
import { streamParts } from './stream-parts.js';
import './athletes.css';

type Athlete = Schema<'AthleteOverviewAnswer'>;

const PAGE = 100;

const COLUMNS: ReadonlyArray<Column<Athlete>> = [
  {
    id: 'subject',
    header: 'Subject',
    cell: ({ id, subject }) => (
      <Link to="/athletes/$id" params={{ id }} title={subject}>
        {subject}
      </Link>
    ),
  },
  {
    id: 'connections',
    header: 'Connections',
    width: 262,
    cell: ({ connections }) => <ConnectionBadges connections={connections} />,
    isSecondary: true,
  },
  {
    id: 'activities',
    header: 'Activities',
    width: 90,
    align: 'end',
    cell: ({ activities }) => count(activities),
    isSecondary: true,
    isNamed: true,
  },
  {
    id: 'streams',
    header: 'Streams',
    width: 100,
    cell: ({ backfill }) => (backfill ? <Bar label="Streams" parts={streamParts(backfill)} /> : '–'),
    isWideOnly: true,
  },
  {
    id: 'import',
    header: 'Import',
    width: 120,
    cell: ({ import: newest }) => (newest ? <Badge state={newest.status} /> : '–'),
  },
  {
    id: 'progress',
    header: 'Progress',
    width: 180,
    cell: ({ import: newest, backfill }) => (
      <Progress resumesAt={newest?.retry_after} doneBy={backfill?.eta ?? newest?.eta} />
    ),
    isWideOnly: true,
  },
];

function ConnectionBadges({ connections }: Pick<Athlete, 'connections'>) {
  if (connections.length === 0) return <>no vendor</>;
  return (
    <span className="badges">
      {connections.map(({ provider, status }) => (
        <span
          key={provider}
          className={`badge tone-${toneOf(status)}`}
          title={status === 'needs_reauth' ? 'The athlete has to connect again' : 'active'}
        >
          {vendorName(provider)}
          {status === 'needs_reauth' && ' !'}
        </span>
      ))}
    </span>
  );
}

/** All athletes, newest first; those that a search finds; or those who have to connect a vendor again. */
export function Athletes() {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const connection = optionOf(search.connection, ['needs_reauth'] as const);
  // The API takes one of the two.
  const filter = connection ? { connection } : { q: search.q };
  const { query, rows, paging } = usePaged({
    queryKey: ['athletes', filter],
    read: (cursor) =>
      answerOf(api.GET('/admin/athletes', { params: { query: { ...filter, cursor, limit: PAGE } } })),
    meta: { changes: ['connection.*', 'import.*', 'athlete.deleted'] },
  });
  return (
    <Page title="Athletes" about="Each athlete with their vendors, and how far imports and backfills are.">
      {!connection && (
        <Filters
          filters={[{ kind: 'text', name: 'q', label: 'Search', hint: 'subject, id, or id at a vendor' }]}
        />
      )}
      <Card
        title={connection ? 'Athletes who have to connect a vendor again' : 'Athletes'}
        aside={connection && <Link to="/athletes">Show all athletes</Link>}
        isFlush
      >
        <Loaded query={query} lines={10}>
          {() => (
            <Table
              label="Athletes"
              columns={COLUMNS}
              rows={rows}
              rowId={({ id }) => id}
              onOpen={({ id }) => void navigate({ to: '/athletes/$id', params: { id } })}
              paging={paging}
              empty={<NoAthletes filter={filter} />}
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

interface NoAthletesProps {
  readonly filter: { readonly q?: string; readonly connection?: string };
}

function NoAthletes({ filter: { q, connection } }: NoAthletesProps) {
  if (connection) return <Empty title="No athlete has to connect again" />;
  if (q)
    return (
      <Empty title="No athlete is found">
        A search finds the beginning of a subject, the beginning of an id from eight digits on, and the whole
        id at a vendor. Upper and lower case differ.
      </Empty>
    );
  return (
    <Empty title="No athletes yet">
      The first request with an athlete’s token creates the athlete; an app’s backend creates one by{' '}
      <code>POST /v1/athletes</code>.
    </Empty>
  );
}

import { type Schema } from '../../app/api.js';
import { count, counted } from '../../format/numbers.js';
import { leftOf, totalOf } from '../../format/stream-counts.js';
import { vendorName, vendorNames, vendorsWith } from '../../format/vendors.js';
import { Badge } from '../../parts/badge.js';
import { Bar } from '../../parts/bar.js';
import { AthleteLink } from '../../parts/links.js';
import { Card } from '../../parts/page.js';
import { Empty } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { PauseButton } from '../athletes/pause-button.js';
import { Progress } from '../athletes/progress.js';
import { ImportBar } from '../athletes/import-bar.js';
import { streamParts } from '../athletes/stream-parts.js';
import { useUnfinishedImports } from './unfinished-imports.js';

/** Streams by state, and the imports and backfills that are not finished. */
export function Running({ state }: { readonly state: Schema<'ObservabilityAnswer'> }) {
  return (
    <>
      <Streams state={state} />
      <Imports />
      <Backfills backfills={state.backfill} isPaused={state.backfills_paused} />
    </>
  );
}

function Streams({ state }: { readonly state: Schema<'ObservabilityAnswer'> }) {
  const { status_distribution: counts } = state;
  return (
    <Card title="Streams" aside={counted(totalOf(counts), 'activity', 'activities')}>
      <Bar label="Streams by state" parts={streamParts(counts)} hasLegend />
    </Card>
  );
}

type Import = Schema<'ListedImportAnswer'>;

const IMPORT_COLUMNS: ReadonlyArray<Column<Import>> = [
  {
    id: 'athlete',
    header: 'Athlete',
    width: 110,
    cell: ({ athlete_id }) => <AthleteLink athleteId={athlete_id} />,
  },
  {
    id: 'vendor',
    header: 'Vendor',
    width: 80,
    cell: ({ provider }) => vendorName(provider),
    isSecondary: true,
  },
  {
    id: 'state',
    header: 'State',
    width: 120,
    cell: ({ status }) => <Badge state={status} />,
    isSecondary: true,
  },
  { id: 'progress', header: 'Activities', cell: (item) => <ImportBar item={item} />, isSecondary: true },
  {
    id: 'done',
    header: 'Progress',
    cell: ({ retry_after, eta }) => <Progress resumesAt={retry_after} doneBy={eta} />,
  },
];

function Imports() {
  const imports = useUnfinishedImports();
  return (
    <Card title="Imports" aside={counted(imports.length, 'unfinished import')} isFlush>
      <Table
        label="Unfinished imports"
        columns={IMPORT_COLUMNS}
        rows={imports}
        rowId={({ id }) => id}
        empty={
          <Empty title="No import is running">
            An import begins when an athlete connects {vendorNames(vendorsWith('activities'), 'disjunction')},
            or asks for one.
          </Empty>
        }
      />
    </Card>
  );
}

type Backfill = Schema<'BackfillAnswer'>;

const BACKFILL_COLUMNS: ReadonlyArray<Column<Backfill>> = [
  {
    id: 'athlete',
    header: 'Athlete',
    width: 110,
    cell: ({ athlete_id }) => <AthleteLink athleteId={athlete_id} />,
  },
  {
    id: 'progress',
    header: 'Streams',
    cell: (backfill) => <Bar label="Streams of this athlete" parts={streamParts(backfill)} />,
    isSecondary: true,
  },
  {
    id: 'left',
    header: 'Left',
    width: 80,
    align: 'end',
    sortBy: leftOf,
    cell: (backfill) => count(leftOf(backfill)),
  },
  {
    id: 'eta',
    header: 'Progress',
    sortBy: ({ eta }) => eta,
    cell: ({ eta }) => <Progress doneBy={eta} />,
  },
];

interface BackfillsProps {
  readonly backfills: readonly Backfill[];
  readonly isPaused: boolean;
}

function Backfills({ backfills, isPaused }: BackfillsProps) {
  const unfinished = backfills.filter((backfill) => leftOf(backfill) > 0);
  return (
    <Card
      title="Backfills"
      aside={
        <span className="card-actions">
          {isPaused && <Badge state="paused" />}
          {counted(unfinished.length, 'athlete')}
          <PauseButton isPaused={isPaused} />
        </span>
      }
      isFlush
    >
      <Table
        label="Backfills"
        columns={BACKFILL_COLUMNS}
        rows={unfinished}
        rowId={({ athlete_id }) => athlete_id}
        empty={
          <Empty title="No backfill is running">
            A backfill fetches the streams of imported activities. It begins after an athlete’s import.
          </Empty>
        }
      />
    </Card>
  );
}

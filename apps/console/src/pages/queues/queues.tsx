import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { answerOf, api, type Schema } from '../../app/api.js';
import { NO_EVENT_POLL_MS } from '../../app/attention.js';
import { count, counted } from '../../format/numbers.js';
import { vendorName } from '../../format/vendors.js';
import { Badge } from '../../parts/badge.js';
import { Bar } from '../../parts/bar.js';
import { AthleteLink, Id } from '../../parts/links.js';
import { Card, Page } from '../../parts/page.js';
import { Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import './queues.css';

type Queue = Schema<'QueueAnswer'>;
type Tick = Queue['ticks'][number];

/** The ticks of imports and backfills in Bull’s queues. Nothing can be changed here. */
export function Queues() {
  const query = useQuery({
    queryKey: ['queues'],
    queryFn: () => answerOf(api.GET('/admin/queues')),
    refetchInterval: NO_EVENT_POLL_MS,
    meta: { changes: ['overview', 'import.*'] },
  });
  return (
    <Page
      title="Queues"
      about="A tick says “look at this import” or “look at this athlete’s backfill”. Sweeps queue missing ticks, so an empty queue does not mean that no work is due."
    >
      <Loaded query={query} lines={8}>
        {({ items }) => items.map((queue) => <QueueCard key={queue.queue} queue={queue} />)}
      </Loaded>
    </Page>
  );
}

function QueueCard({ queue }: { readonly queue: Queue }) {
  const { active, waiting, delayed, failed, ticks } = queue;
  const total = active + waiting + delayed;
  return (
    <Card title={nameOf(queue.queue)} aside={counted(total, 'tick')} isFlush>
      <div className="queue-head">
        <Bar
          label="Ticks by state"
          hasLegend
          parts={[
            { label: 'active', value: active, tone: 'busy' },
            { label: 'waiting', value: waiting, tone: 'waiting' },
            { label: 'delayed', value: delayed, tone: 'quiet' },
            { label: 'failed', value: failed, tone: 'bad' },
          ]}
        />
      </div>
      <Table
        label={`Ticks of ${queue.queue}`}
        columns={COLUMNS}
        rows={ticks}
        rowId={({ state, id }) => `${state} ${id}`}
        empty={null}
      />
      {ticks.length < total && <p className="table-more">The first {count(ticks.length)} are listed.</p>}
    </Card>
  );
}

/** `imports` → `Imports`; `backfill-` and a vendor's id → `Backfills from` and its name. */
function nameOf(queue: string): string {
  const [, vendor] = /^backfill-(.+)$/.exec(queue) ?? [];
  if (vendor) return `Backfills from ${vendorName(vendor)}`;
  return `${queue.charAt(0).toUpperCase()}${queue.slice(1)}`;
}

const COLUMNS: ReadonlyArray<Column<Tick>> = [
  {
    id: 'state',
    header: 'State',
    width: 104,
    cell: ({ state }) => <Badge state={state} tone={state === 'active' ? 'busy' : 'waiting'} />,
  },
  { id: 'about', header: 'Looks at', cell: (tick) => <About tick={tick} /> },
  {
    id: 'queued',
    header: 'Queued',
    width: 116,
    align: 'end',
    isSecondary: true,
    isNamed: true,
    cell: ({ queued_at }) => <Time at={queued_at} as="relative" />,
  },
  {
    id: 'due',
    header: 'Due',
    width: 116,
    align: 'end',
    cell: ({ due_at }) => <Time at={due_at} as="due" />,
  },
];

function About({ tick: { id, athlete_id, import_id } }: { readonly tick: Tick }) {
  if (athlete_id)
    return (
      <>
        backfill of <AthleteLink athleteId={athlete_id} />
      </>
    );
  if (import_id)
    return (
      <>
        <Link to="/imports">import</Link> <Id id={import_id} />
      </>
    );
  return <code>{id}</code>;
}

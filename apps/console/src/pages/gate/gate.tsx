import { useQuery } from '@tanstack/react-query';
import { answerOf, api, type Schema } from '../../app/api.js';
import { NO_EVENT_POLL_MS } from '../../app/attention.js';
import { count, counted } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Bar } from '../../parts/bar.js';
import { Card, Page } from '../../parts/page.js';
import { Empty, Loaded } from '../../parts/states.js';
import { type Column, Table } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { Decisions } from './decisions.js';

type State = Schema<'GateStateAnswer'>;
type GateSession = State['sessions'][number];

/** The places of the playback gate, and its decisions of the last hour. */
export function Gate() {
  const query = useQuery({
    queryKey: ['gate'],
    queryFn: () => answerOf(api.GET('/admin/gate')),
    refetchInterval: NO_EVENT_POLL_MS,
    meta: { changes: ['overview'] },
  });
  return (
    <Page title="Playback gate" about="The gate limits how many people watch a guided workout at once.">
      <Loaded query={query} lines={10}>
        {(state) => (
          <>
            <Places state={state} />
            <Decisions minutes={state.decisions_last_hour} />
            <Sessions state={state} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Places({ state: { capacity, places_used, waiting, sessions } }: { readonly state: State }) {
  const idle = sessions.filter((session) => session.is_idle).length;
  const free = Math.max(0, capacity - places_used);
  return (
    <Card title="Places" aside={`${count(places_used)} of ${count(capacity)} taken`}>
      <Bar
        label="Places"
        of={capacity}
        hasLegend
        parts={[
          { label: 'watching', value: places_used - idle, tone: free === 0 ? 'bad' : 'busy' },
          { label: 'silent', value: idle, tone: 'waiting' },
          { label: 'free', value: free, tone: 'rest' },
        ]}
      />
      {idle > 0 && <p className="hint">A newcomer may get the place of a silent session.</p>}
      <p className="hint">
        {waiting === 0
          ? 'No one waits for a place.'
          : `${counted(waiting, 'viewer')} found no place lately and ${waiting === 1 ? 'has' : 'have'} none yet. There is no queue: each asks again or gives up.`}
      </p>
    </Card>
  );
}

const COLUMNS: ReadonlyArray<Column<GateSession>> = [
  {
    id: 'state',
    header: 'State',
    width: 120,
    sortBy: ({ is_idle }) => (is_idle ? 'silent' : 'watching'),
    cell: ({ is_idle }) => (
      <Badge state={is_idle ? 'silent' : 'watching'} tone={is_idle ? 'waiting' : 'busy'} />
    ),
  },
  {
    id: 'seen',
    header: 'Last request',
    sortBy: ({ seen_at }) => seen_at,
    cell: ({ seen_at }) => <Time at={seen_at} as="relative" />,
  },
  {
    id: 'since',
    header: 'Place since',
    width: 110,
    align: 'end',
    sortBy: ({ since }) => since,
    cell: ({ since }) => <Time at={since} />,
  },
];

function Sessions({ state: { sessions, places_used } }: { readonly state: State }) {
  const isCut = sessions.length < places_used;
  return (
    <Card
      title="Sessions"
      aside={isCut ? `the latest ${count(sessions.length)}` : counted(sessions.length, 'session')}
      isFlush
    >
      <Table
        label="Sessions"
        columns={COLUMNS}
        rows={sessions}
        rowId={({ since, seen_at }) => `${since} ${seen_at}`}
        empty={
          <Empty title="No one is watching">
            A session gets a place when a viewer opens a workout in the add-on, and loses it after a time
            without requests.
          </Empty>
        }
      />
    </Card>
  );
}

import { useUnits } from '../../app/preferences.js';
import { covered, effort, speedKindOf } from '../../format/effort.js';
import { duration } from '../../format/time.js';
import { height } from '../../format/units.js';
import { type Figure, Figures } from '../../parts/figures.js';
import { Card } from '../../parts/page.js';
import { Empty } from '../../parts/states.js';
import { type Detail } from './queries.js';

type Lap = NonNullable<Detail['laps']>[number];

/** Laps of the watch, as the vendor tells them. */
export function Laps({ activity }: { readonly activity: Detail }) {
  const { laps } = activity;
  if (!laps || laps.length === 0)
    return (
      <Card title="Laps">
        <Empty title={laps ? 'The vendor has no laps' : 'The laps are not imported yet'}>
          {!laps && 'They come with the vendor’s detail of the activity.'}
        </Empty>
      </Card>
    );
  return (
    <Card title="Laps" aside={laps.length} isFlush>
      <LapTable laps={laps} sport={activity.sport_type} />
    </Card>
  );
}

/** A column of its own if any lap has them. */
const MEASURES: ReadonlyArray<readonly [name: string, of: (lap: Lap) => number | null]> = [
  ['Heart rate', (lap) => lap.average_heartrate],
  ['Highest', (lap) => lap.max_heartrate],
  ['Cadence', (lap) => lap.average_cadence],
  ['Power', (lap) => lap.average_watts],
];

function LapTable({ laps, sport }: { readonly laps: readonly Lap[]; readonly sport: string }) {
  const units = useUnits();
  const kind = speedKindOf(sport);
  const measured = MEASURES.filter(([, of]) => laps.some((lap) => of(lap) !== null));
  const columns: ReadonlyArray<Figure<Lap>> = [
    { header: 'Lap', cell: (lap, index) => lap.name || (lap.number ?? index + 1) },
    { header: 'Distance', cell: (lap) => covered(lap.distance_m, kind, units) },
    { header: 'Moving', cell: (lap) => duration(lap.moving_time_s) },
    {
      header: kind === 'speed' ? 'Speed' : 'Pace',
      cell: (lap) => effort(lap.average_speed_m_s, kind, units),
    },
    { header: 'Climb', cell: (lap) => height(lap.elevation_gain_m, units), isMinor: true },
    ...measured.map(([header, of]) => ({ header, cell: (lap: Lap) => whole(of(lap)), isMinor: true })),
  ];
  return (
    <Figures
      label="Laps of the watch"
      isInset
      columns={columns}
      rows={laps}
      rowKey={(lap, index) => lap.id ?? index}
    />
  );
}

const whole = (value: number | null) => (value === null ? '–' : Math.round(value));

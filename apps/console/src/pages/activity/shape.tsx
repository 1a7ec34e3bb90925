import { useUnits } from '../../app/preferences.js';
import { type View } from '../../charts/view.js';
import { covered, effort, speedKindOf } from '../../format/effort.js';
import { duration } from '../../format/time.js';
import { distance, height } from '../../format/units.js';
import { type Figure, Figures } from '../../parts/figures.js';
import { Card } from '../../parts/page.js';
import { Empty } from '../../parts/states.js';
import { bandColour } from './channels.js';
import { type Detail, shapeOf, type ShapeResult, type State } from './queries.js';

type Segment = ShapeResult['segments'][number];
type Climb = ShapeResult['climbs'][number];

interface ShapeProps {
  readonly activity: Detail;
  readonly state: State;
  readonly view: View;
}

/** The kind of session, in words and in segments, as docs/run-shape.md describes. */
export function Shape({ activity, state, view }: ShapeProps) {
  const result = shapeOf(state);
  if (!result)
    return (
      <Card title="Shape">
        <Empty title="The activity has no shape yet">
          It is computed by the activity’s first job, once the streams are stored or known to be missing.
        </Empty>
      </Card>
    );
  return (
    <Card title={`Shape: ${result.title}`} aside={result.profile} isFlush>
      <p className="shape-words">{result.description}</p>
      {result.segments.length > 0 && <Segments activity={activity} segments={result.segments} view={view} />}
      {result.climbs.length > 0 && <Climbs climbs={result.climbs} view={view} />}
    </Card>
  );
}

interface SegmentsProps {
  readonly activity: Detail;
  readonly segments: readonly Segment[];
  readonly view: View;
}

function Segments({ activity, segments, view }: SegmentsProps) {
  const units = useUnits();
  const kind = speedKindOf(activity.sport_type);
  const hasWatts = segments.some(({ average_watts }) => average_watts !== null);
  const columns: ReadonlyArray<Figure<Segment>> = [
    {
      header: 'Segment',
      cell: (segment) => (
        <>
          <i className="swatch" style={{ background: `var(${bandColour(segment.kind)})` }} />
          {segment.kind}
          {segment.repetition !== null && ` ${segment.repetition}`}
        </>
      ),
    },
    {
      header: 'From',
      cell: ({ from_s, to_s }) => <ZoomButton from={from_s} to={to_s} view={view} />,
      isMinor: true,
    },
    { header: 'Distance', cell: ({ distance_m }) => covered(distance_m, kind, units) },
    { header: 'Moving', cell: ({ moving_s }) => duration(moving_s) },
    {
      header: kind === 'speed' ? 'Speed' : 'Pace',
      cell: ({ average_pace_s_per_km: seconds }) => effort(seconds && 1000 / seconds, kind, units),
    },
    {
      header: 'Heart rate',
      cell: ({ average_heartrate: beats }) => (beats === null ? '–' : Math.round(beats)),
      isMinor: true,
    },
  ];
  const power: Figure<Segment> = {
    header: 'Power',
    cell: ({ average_watts: watts }) => (watts === null ? '–' : `${Math.round(watts)} W`),
    isMinor: true,
  };
  return (
    <Figures
      label="Segments of the activity"
      isInset
      columns={hasWatts ? [...columns, power] : columns}
      rows={segments}
      rowKey={({ from_s }) => from_s}
    />
  );
}

function Climbs({ climbs, view }: { readonly climbs: ShapeResult['climbs']; readonly view: View }) {
  const units = useUnits();
  const columns: ReadonlyArray<Figure<Climb>> = [
    { header: 'Climb', cell: (_, index) => index + 1 },
    {
      header: 'From',
      cell: ({ from_s, to_s }) => <ZoomButton from={from_s} to={to_s} view={view} />,
      isMinor: true,
    },
    { header: 'Distance', cell: ({ distance_m }) => distance(distance_m, units) },
    { header: 'Gain', cell: ({ gain_m }) => height(gain_m, units) },
    { header: 'Grade', cell: ({ grade_percent }) => `${grade_percent.toFixed(1)} %` },
  ];
  return (
    <Figures
      label="Climbs of the activity"
      isInset
      columns={columns}
      rows={climbs}
      rowKey={({ from_s }) => from_s}
    />
  );
}

function ZoomButton({ from, to, view }: { readonly from: number; readonly to: number; readonly view: View }) {
  return (
    <button
      type="button"
      className="button-link"
      title={`Show ${duration(from)} to ${duration(to)} in the charts`}
      onClick={() => view.zoom.set([from, to])}
    >
      {duration(from)}
    </button>
  );
}

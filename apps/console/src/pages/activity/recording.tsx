import { lazy, Suspense, useMemo } from 'react';
import { useUnits } from '../../app/preferences.js';
import { pauseOf } from '../../charts/channel.js';
import { ExtremesTable } from '../../charts/readout.js';
import { type View } from '../../charts/view.js';
import { speedKindOf } from '../../format/effort.js';
import { count } from '../../format/numbers.js';
import { decodePolyline, type Position } from '../../format/route.js';
import { duration } from '../../format/time.js';
import { Card } from '../../parts/page.js';
import { Empty, Loading } from '../../parts/states.js';
import { bandsOf, channelsOf, secondsOf } from './channels.js';
import { type Detail, type ShapeResult, type Streams } from './queries.js';
import { RouteMap } from './route-map.js';

const Stack = lazy(async () => ({ default: (await import('../../charts/stack.js')).Stack }));

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400];

interface RecordingProps {
  readonly activity: Detail;
  readonly streams: Streams;
  readonly segments: ShapeResult['segments'] | undefined;
  readonly view: View;
}

/** Charts and map of the streams. Without streams, the map shows the vendor's own line. */
export function Recording({ activity, streams, segments, view }: RecordingProps) {
  const units = useUnits();
  const data = streams.stream_data;
  const xs = useMemo(() => (data ? secondsOf(data) : []), [data]);
  const gapFrom = useMemo(() => pauseOf(xs), [xs]);
  const channels = useMemo(
    () => (data ? channelsOf(data, speedKindOf(activity.sport_type), units) : []),
    [data, activity.sport_type, units],
  );
  const bands = useMemo(() => bandsOf(segments ?? []), [segments]);
  const recorded = data?.latlng as readonly Position[] | undefined;
  const polyline = activity.map.polyline ?? activity.map.summary_polyline;
  const route = useMemo(
    () => (recorded?.length ? recorded : polyline ? decodePolyline(polyline) : []),
    [recorded, polyline],
  );
  const hasRoute = route.length > 1;
  const hasSide = hasRoute || channels.length > 0;
  return (
    <div className={hasSide ? 'recording has-side' : 'recording'}>
      <Card title="Recording" aside={data ? `${count(streams.point_count)} samples` : undefined}>
        {channels.length === 0 ? (
          <NoStreams isManual={activity.manual} />
        ) : (
          <Suspense fallback={<Loading lines={10} />}>
            <Stack
              label="Charts of the recording"
              xs={xs}
              xLabel="Time"
              xFormat={duration}
              xSteps={TIME_STEPS}
              channels={channels}
              bands={bands}
              view={view}
              gapFrom={gapFrom}
            />
          </Suspense>
        )}
      </Card>
      {hasSide && (
        <div className="recording-side">
          {hasRoute && (
            <Card title="Route" aside="north is up">
              <RouteMap route={route} view={recorded?.length ? view : undefined} />
            </Card>
          )}
          {channels.length > 0 && (
            <Card title="Extremes and averages">
              <ExtremesTable channels={channels} />
            </Card>
          )}
        </div>
      )}
    </div>
  );
}

function NoStreams({ isManual }: { readonly isManual: boolean }) {
  return (
    <Empty title="There are no charts">
      {isManual
        ? 'The athlete typed this activity in; nothing was recorded.'
        : 'The streams are not stored. “Streams” below says why, and when the next attempt is.'}
    </Empty>
  );
}

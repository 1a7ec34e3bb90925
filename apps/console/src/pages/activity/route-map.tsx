import { useMemo } from 'react';
import { useStore } from '../../app/store.js';
import { type View } from '../../charts/view.js';
import { planeOf, type Position } from '../../format/route.js';

interface RouteMapProps {
  readonly route: readonly Position[];
  /** If set, the route has one position for each sample, and a dot follows the cursor. */
  readonly view?: View;
}

const SIZE = 400;
const MARGIN = 14;
// More would not be seen on a map of this size.
const MOST_POINTS = 1500;

/** The line of the route without a map below it, since the console loads nothing from elsewhere. North is up. */
export function RouteMap({ route, view }: RouteMapProps) {
  const plane = useMemo(() => planeOf(route, SIZE), [route]);
  const line = useMemo(() => {
    const every = Math.ceil(plane.points.length / MOST_POINTS);
    const shown = plane.points.filter((_, index) => index % every === 0 || index === plane.points.length - 1);
    return shown.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
  }, [plane]);
  const first = plane.points[0];
  const last = plane.points.at(-1);
  const box = [-MARGIN, -MARGIN, plane.width + 2 * MARGIN, plane.height + 2 * MARGIN].join(' ');
  return (
    <svg className="route" viewBox={box} role="img" aria-label="Line of the route, north is up">
      <polyline className="route-line" points={line} />
      {first && <circle className="route-start" cx={first[0]} cy={first[1]} r={6} />}
      {last && <rect className="route-end" x={last[0] - 5} y={last[1] - 5} width={10} height={10} />}
      {view && <CursorDot points={plane.points} view={view} />}
    </svg>
  );
}

function CursorDot({ points, view }: { readonly points: RoutePoints; readonly view: View }) {
  const index = useStore(view.cursor);
  const point = index === null ? undefined : points[index];
  if (!point) return null;
  return <circle className="route-cursor" cx={point[0]} cy={point[1]} r={7} data-cursor-index={index} />;
}

type RoutePoints = ReturnType<typeof planeOf>['points'];

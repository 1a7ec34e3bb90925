import { type FetchStatus } from '../../format/stream-fetch.js';
import { toneOf } from '../../parts/badge.js';

const BOX = { width: 100, height: 28 };

const PLACES: Record<FetchStatus, readonly [x: number, y: number]> = {
  pending: [-4, 60],
  fetching: [146, 60],
  success: [304, 60],
  failed: [56, 130],
  deferred: [236, 130],
  unavailable: [146, 0],
};

const STEPS: ReadonlyArray<readonly [path: string, label: string, x: number, y: number]> = [
  ['M96 74H144', 'claim', 120, 68],
  ['M246 74H302', 'stored', 274, 68],
  ['M166 88V108Q166 114 160 114H112Q106 114 106 120V128', 'an error', 128, 109],
  ['M226 88V108Q226 114 232 114H280Q286 114 286 120V128', 'later', 262, 109],
  ['M152 144H172Q180 144 180 136V90', 'claim', 196, 158],
  ['M240 144H220Q212 144 212 136V90', '', 0, 0],
  ['M196 60V30', 'none', 214, 48],
];

/** The states of docs/stream-lifecycle.md, with the present one marked. */
export function FetchDiagram({ status }: { readonly status: FetchStatus }) {
  return (
    <svg
      className="fetch-diagram"
      viewBox="-6 -2 412 164"
      role="img"
      aria-label={`States of a stream fetch: pending, fetching, success, failed, deferred, unavailable. The present state is ${status}.`}
      data-state={status}
    >
      <defs>
        <marker
          id="fetch-arrow"
          viewBox="0 0 6 6"
          refX="5"
          refY="3"
          markerWidth="6"
          markerHeight="6"
          orient="auto"
        >
          <path d="M0 0 6 3 0 6z" />
        </marker>
      </defs>
      {STEPS.map(([path, label, x, y]) => (
        <g key={path} className="fetch-step">
          <path d={path} markerEnd="url(#fetch-arrow)" />
          <text x={x} y={y}>
            {label}
          </text>
        </g>
      ))}
      {(Object.keys(PLACES) as FetchStatus[]).map((state) => {
        const [x, y] = PLACES[state];
        const tone = state === status ? `is-present tone-${toneOf(state)}` : '';
        return (
          <g key={state} className={`fetch-state ${tone}`} transform={`translate(${x} ${y})`}>
            <rect {...BOX} rx={4} />
            <text x={BOX.width / 2} y={19}>
              {state}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

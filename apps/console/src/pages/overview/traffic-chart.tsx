import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type Schema } from '../../app/api.js';
import { usePreferences } from '../../app/preferences.js';
import { coloursOf } from '../../charts/colours.js';
import { count } from '../../format/numbers.js';
import { clock } from '../../format/time.js';

type Traffic = Schema<'TrafficAnswer'>;
type Bucket = Traffic['buckets'][number];

interface TrafficChartProps {
  readonly traffic: Traffic;
  /** All calls in words, shown while no window is looked at. */
  readonly summary: ReactNode;
  /** The end of the vendor's day, from which the beginning of the current one is drawn. */
  readonly dayEndsAt: string | undefined;
}

const HEIGHT = 220;
// Half of the longest word below the x axis, `22:11:50`, may stand there.
const RIGHT = 32;
// Narrower bars would show a pattern of gaps in place of their heights.
const NARROWEST_WITH_GAP_PX = 5;
const REAL_BUCKET_MS = 900_000;
// A limit far above the calls would press the bars flat; the text below the chart still says it.
const MOST_HEADROOM = 4;
const LEAST_REFUSED_PX = 4;
const DASH = [4, 4];

/** Bars of calls by class, one for each window of 15 minutes, with the calls answered 429 in front and the limit above. */
export function TrafficChart({ traffic, summary, dayEndsAt }: TrafficChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  /** The beginning of the window that is looked at. */
  const [at, setAt] = useState<string>();
  const { theme } = usePreferences();
  const scheme = useColorScheme();
  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const drawn = new uPlot(optionsOf(element, traffic, dayEndsAt, setAt), dataOf(traffic), element);
    plot.current = drawn;
    const observer = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      drawn.destroy();
      element.replaceChildren();
    };
  }, [traffic, dayEndsAt, theme, scheme]);

  const found = traffic.buckets.findIndex((bucket) => bucket.at === at);
  const index = found === -1 ? undefined : found;
  const last = traffic.buckets.length - 1;

  function move(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: (index ?? last + 1) - 1,
      ArrowRight: (index ?? last - 1) + 1,
      Home: 0,
      End: last,
    };
    const next = steps[event.key];
    if (next === undefined || !plot.current) return;
    event.preventDefault();
    const to = Math.min(Math.max(next, 0), last);
    const middle = (plot.current.data[0][to] ?? 0) + traffic.bucket_ms / 2000;
    plot.current.setCursor({ left: plot.current.valToPos(middle, 'x'), top: HEIGHT / 2 });
  }

  const bucket = index === undefined ? undefined : traffic.buckets[index];
  const limit = limitOf(traffic);
  const text = bucket && describe(bucket, traffic);
  return (
    <>
      <p className="chart-readout">
        {text ?? <>{summary} Point at the chart, or use the arrow keys, to read one window.</>}
      </p>
      <p className="chart-unit" aria-hidden="true">
        calls in 15 min
      </p>
      <div
        ref={holder}
        className="chart"
        role="slider"
        tabIndex={0}
        aria-label="Calls of one window of 15 minutes"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={index ?? last}
        aria-valuetext={text ?? 'no window'}
        onKeyDown={move}
        onPointerLeave={() => setAt(undefined)}
      />
      <ul className="legend" aria-hidden="true">
        <li className="tone-live">live</li>
        <li className="tone-import">import</li>
        <li className="tone-backfill">backfill</li>
        <li className="tone-bad">answered 429</li>
        {limit > 0 && (
          <li className="legend-line">
            limit of a window{limit > topOf(traffic) && `: ${count(limit)}, above the chart`}
          </li>
        )}
      </ul>
    </>
  );
}

/** Renders again when the system changes between light and dark, because a canvas keeps its colours. */
function useColorScheme(): boolean {
  const [isDark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const media = matchMedia('(prefers-color-scheme: dark)');
    const change = () => setDark(media.matches);
    media.addEventListener('change', change);
    return () => media.removeEventListener('change', change);
  }, []);
  return isDark;
}

const seconds = (at: string) => Date.parse(at) / 1000;
const isFine = ({ bucket_ms }: Traffic) => bucket_ms < REAL_BUCKET_MS / 10;

/** The bars are drawn over each other, highest first, so each series is the sum of the classes up to it. */
function dataOf({ buckets }: Traffic): uPlot.AlignedData {
  return [
    buckets.map(({ at }) => seconds(at)),
    buckets.map((each) => each.live + each.import + each.backfill),
    buckets.map((each) => each.live + each.import),
    buckets.map((each) => each.live),
    buckets.map((each) => each.limit),
  ];
}

function describe(bucket: Bucket, traffic: Traffic): string {
  const begin = new Date(bucket.at);
  const end = new Date(begin.getTime() + traffic.bucket_ms);
  const refused =
    bucket.rate_limited > 0 ? `${count(bucket.rate_limited)} answered 429` : 'none answered 429';
  return [
    `${clock(begin, isFine(traffic))} to ${clock(end, isFine(traffic))}`,
    `live ${count(bucket.live)}`,
    `import ${count(bucket.import)}`,
    `backfill ${count(bucket.backfill)}`,
    refused,
    bucket.limit === null ? '' : `limit ${count(bucket.limit)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

function optionsOf(
  element: HTMLElement,
  traffic: Traffic,
  dayEndsAt: string | undefined,
  onBucket: (at: string | undefined) => void,
): uPlot.Options {
  const colour = coloursOf(element);
  const hasGaps = element.clientWidth / traffic.buckets.length >= NARROWEST_WITH_GAP_PX;
  const bars = uPlot.paths.bars?.({ size: [1, Infinity], align: 1, gap: hasGaps ? 1 : 0 });
  const bar = (fill: string): uPlot.Series => ({ fill, width: 0, paths: bars, points: { show: false } });
  const axis: uPlot.Axis = {
    stroke: colour('--muted'),
    font: `12px ${getComputedStyle(element).fontFamily}`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1, size: 5 },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [null, RIGHT, null, null],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { show: false },
      dataIdx: (drawn, _, __, value) =>
        Math.min(
          Math.max(Math.floor((value - (drawn.data[0][0] ?? 0)) / (traffic.bucket_ms / 1000)), 0),
          traffic.buckets.length - 1,
        ),
    },
    scales: { x: { range: [seconds(traffic.from), seconds(traffic.to)] }, y: { range: [0, topOf(traffic)] } },
    series: [
      {},
      bar(colour('--backfill')),
      bar(colour('--import')),
      bar(colour('--live')),
      {
        stroke: colour('--ink'),
        width: 1.5,
        paths: uPlot.paths.stepped?.({ align: 1 }),
        points: { show: false },
      },
    ],
    axes: [
      {
        ...axis,
        size: 30,
        space: 70,
        values: (_, splits) => splits.map((at) => clock(new Date(at * 1000), isFine(traffic))),
      },
      {
        ...axis,
        size: 52,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000],
        values: (_, splits) => splits.map(count),
      },
    ],
    hooks: {
      draw: [
        (drawn) => drawRefused(drawn, traffic, colour('--bad')),
        (drawn) => drawDayEdge(drawn, traffic, dayEndsAt, colour('--muted')),
      ],
      // A chart that is drawn again begins without a cursor; the window that the person looks at stays.
      setCursor: [
        ({ cursor: { idx, left } }) => {
          const bucket = typeof idx === 'number' && (left ?? -1) >= 0 ? traffic.buckets[idx] : undefined;
          if (bucket) onBucket(bucket.at);
        },
      ],
    },
  };
}

/** 0 if the vendor limits only days. */
const limitOf = ({ buckets }: Pick<Traffic, 'buckets'>) =>
  Math.max(0, ...buckets.map((each) => each.limit ?? 0));

function topOf({ buckets }: Traffic): number {
  const highest = Math.max(1, ...buckets.map((each) => each.live + each.import + each.backfill));
  const limit = limitOf({ buckets });
  const top = limit <= highest * MOST_HEADROOM ? Math.max(limit, highest) : highest;
  return Math.ceil(top * 1.15);
}

/** In front of the other bars, and never too low to be seen. */
function drawRefused(drawn: uPlot, { buckets, bucket_ms }: Traffic, colour: string): void {
  const { ctx, bbox } = drawn;
  const bottom = bbox.top + bbox.height;
  ctx.fillStyle = colour;
  for (const { at, rate_limited } of buckets) {
    if (rate_limited === 0) continue;
    const left = drawn.valToPos(seconds(at), 'x', true);
    const right = drawn.valToPos(seconds(at) + bucket_ms / 1000, 'x', true);
    const height = Math.max(
      bottom - drawn.valToPos(rate_limited, 'y', true),
      LEAST_REFUSED_PX * devicePixelRatio,
    );
    ctx.fillRect(left, bottom - height, right - left - devicePixelRatio, height);
  }
}

/** A dashed line where the vendor's day began: its daily count was 0 then. */
function drawDayEdge(drawn: uPlot, traffic: Traffic, dayEndsAt: string | undefined, colour: string): void {
  if (!dayEndsAt) return;
  const day = traffic.bucket_ms * traffic.buckets.length;
  const at = (Date.parse(dayEndsAt) - day) / 1000;
  if (at <= seconds(traffic.from) || at >= seconds(traffic.to)) return;
  const { ctx, bbox } = drawn;
  const x = drawn.valToPos(at, 'x', true);
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(DASH.map((length) => length * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  const isNearEnd = x > bbox.left + bbox.width * 0.8;
  ctx.textAlign = isNearEnd ? 'right' : 'left';
  ctx.textBaseline = 'top';
  ctx.fillText('new day', x + (isNearEnd ? -6 : 6) * devicePixelRatio, bbox.top + 2);
  ctx.restore();
}

import uPlot from 'uplot';
import { type Band, type Channel, isolatedIn } from './channel.js';
import { coloursOf } from './colours.js';
import { type View } from './view.js';

const PLOT_HEIGHT = 104;
const AXIS_HEIGHT = 30;
const AXIS_WIDTH = 72;
const FONT = '12px system-ui, sans-serif';
// A shorter drag is a click with an unsteady hand.
const SHORTEST_DRAG_PX = 4;
const HEADROOM = 0.06;
const ISOLATED_PX = 3;
// Half of the longest word below the x axis, `10:00:00`, may stand there. All charts of a stack are equally wide.
const RIGHT = 26;

interface PlotOptions {
  readonly host: HTMLElement;
  readonly xs: readonly number[];
  readonly channel: Channel;
  readonly bands: readonly Band[];
  readonly view: View;
  /** No line joins two samples whose x are at least this far apart: nothing is known about the time between them. */
  readonly gapFrom: number | undefined;
  /** Distances between the words below the x axis, ascending. */
  readonly xSteps: readonly number[];
  /** The words below the x axis; without them, the axis is left out. */
  readonly xTick: ((x: number) => string) | undefined;
}

/** Draws one channel and follows the view. The host tells the lowest and the highest value drawn as `data-min` and `data-max`. Returns the plot and what ends it. */
export function plot({ host, xs, channel, bands, view, gapFrom, xSteps, xTick }: PlotOptions): {
  readonly chart: uPlot;
  readonly end: () => void;
} {
  const colour = coloursOf(host);
  const axis = { font: FONT, stroke: () => colour('--muted'), ticks: { show: false }, gap: 4 };
  const grid = { stroke: () => colour('--line'), width: 1 };
  const tick = channel.tick ?? channel.format;
  const chart = new uPlot(
    {
      width: host.clientWidth,
      height: PLOT_HEIGHT + (xTick ? AXIS_HEIGHT : 0),
      padding: [8, RIGHT, xTick ? 0 : 4, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => resetZoom(view) },
        points: { size: 7 },
      },
      scales: { x: { time: false }, y: { range: (_chart, min, max) => withHeadroom(min, max) } },
      axes: [
        {
          ...axis,
          show: xTick !== undefined,
          size: AXIS_HEIGHT,
          space: 64,
          incrs: [...xSteps],
          grid: { show: false },
          values: (_chart, splits) => splits.map((x) => xTick?.(x) ?? ''),
        },
        {
          ...axis,
          size: AXIS_WIDTH,
          space: 28,
          grid,
          values: (_chart, splits) => splits.map(tick),
          ...(channel.ticks && {
            splits: (_chart: uPlot, _axis: number, min: number, max: number) =>
              channel.ticks?.(min, max) ?? [],
          }),
        },
      ],
      series: [
        {},
        {
          label: channel.label,
          stroke: () => colour(channel.colour),
          width: 1.5,
          ...(gapFrom !== undefined && {
            gaps: (drawn: uPlot, _series: number, from: number, to: number, gaps: Gaps) =>
              withPauses(drawn, from, to, gaps, gapFrom),
          }),
          points: {
            show: channel.hasPoints ?? false,
            filter: channel.hasPoints ? null : isolatedIn(channel.values, xs, gapFrom),
            size: channel.hasPoints ? 5 : ISOLATED_PX,
            fill: () => colour(channel.colour),
          },
        },
      ],
      hooks: {
        drawClear: [(drawn) => fillBands(drawn, bands, colour)],
        draw: [(drawn) => tellExtremes(drawn, host)],
        setCursor: [(moved) => view.cursor.set(moved.cursor.idx ?? null)],
        setSelect: [(dragged) => zoomIntoSelection(dragged, view)],
      },
    },
    [xs as number[], channel.values as (number | null)[]],
    host,
  );
  const unfollow = [
    view.cursor.subscribe(() => moveCursor(chart, xs, view.cursor.get())),
    view.zoom.subscribe(() => zoomTo(chart, xs, view.zoom.get())),
  ];
  if (view.zoom.get()) zoomTo(chart, xs, view.zoom.get());
  const resize = new ResizeObserver(() => {
    if (host.clientWidth > 0 && host.clientWidth !== chart.width)
      chart.setSize({ width: host.clientWidth, height: chart.height });
  });
  resize.observe(host);
  return {
    chart,
    end() {
      for (const stop of unfollow) stop();
      resize.disconnect();
      chart.destroy();
      host.replaceChildren();
    },
  };
}

type Gaps = Array<[from: number, to: number]>;

/** Adds the pauses between the samples `from` and `to` to the gaps of missing values, in the order of x. */
function withPauses(chart: uPlot, from: number, to: number, gaps: Gaps, gapFrom: number): Gaps {
  const xs = chart.data[0];
  const place = (index: number) => Math.round(chart.valToPos(xs[index] ?? 0, 'x', true));
  for (let index = from + 1; index <= to; index += 1)
    if ((xs[index] ?? 0) - (xs[index - 1] ?? 0) >= gapFrom) gaps.push([place(index - 1), place(index)]);
  return gaps.sort(([a], [b]) => a - b);
}

function resetZoom(view: View): null {
  view.zoom.set(null);
  return null;
}

function zoomIntoSelection(chart: uPlot, view: View): void {
  const { left, width } = chart.select;
  if (width < SHORTEST_DRAG_PX) return;
  const zoom = [chart.posToVal(left, 'x'), chart.posToVal(left + width, 'x')] as const;
  chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  view.zoom.set(zoom);
}

function zoomTo(chart: uPlot, xs: readonly number[], zoom: readonly [number, number] | null): void {
  const [min, max] = zoom ?? [xs[0] ?? 0, xs.at(-1) ?? 0];
  chart.setScale('x', { min, max });
}

/** Without an event, so that charts that follow each other do not move each other again. */
function moveCursor(chart: uPlot, xs: readonly number[], index: number | null): void {
  if (chart.cursor.idx === index) return;
  const x = index === null ? undefined : xs[index];
  const left = x === undefined ? -10 : chart.valToPos(x, 'x');
  const isInside = left >= 0 && left <= chart.over.clientWidth;
  chart.setCursor({ left: isInside ? left : -10, top: isInside ? 1 : -10 }, false);
}

function fillBands(chart: uPlot, bands: readonly Band[], colour: (token: string) => string): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const band of bands) {
    const from = chart.valToPos(band.from, 'x', true);
    const to = chart.valToPos(band.to, 'x', true);
    ctx.fillStyle = colour(band.colour);
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  }
  ctx.restore();
}

function tellExtremes(chart: uPlot, host: HTMLElement): void {
  const { min, max } = chart.series[1] ?? {};
  host.dataset.min = String(min ?? '');
  host.dataset.max = String(max ?? '');
}

function withHeadroom(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1];
  const room = (max - min || Math.abs(max) || 1) * HEADROOM;
  return [min - room, max + room];
}

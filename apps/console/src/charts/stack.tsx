import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import type uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { usePreferences } from '../app/preferences.js';
import { useStore } from '../app/store.js';
import { type Band, type Channel, extremesOf, nearest } from './channel.js';
import './charts.css';
import { plot } from './plot.js';
import { Readout } from './readout.js';
import { type View } from './view.js';

interface StackProps {
  readonly label: string;
  readonly xs: readonly number[];
  readonly xLabel: string;
  readonly xFormat: (x: number) => string;
  /** Distances between the words below the x axis, ascending. */
  readonly xSteps: readonly number[];
  readonly channels: readonly Channel[];
  readonly bands?: readonly Band[];
  readonly view: View;
  /** No line joins two samples whose x are at least this far apart. */
  readonly gapFrom?: number;
}

const NO_BANDS: readonly Band[] = [];
const LONG_STEP = 60;
const ZOOM_STEP = 2;

/** Charts below each other with one x axis and one cursor. A drag zooms all of them, a double click shows everything again; arrow keys move the cursor. */
export function Stack(props: StackProps) {
  const { label, xs, xLabel, xFormat, xSteps, channels, bands = NO_BANDS, view, gapFrom } = props;
  return (
    <div className="stack">
      <Readout xs={xs} xLabel={xLabel} xFormat={xFormat} channels={channels} view={view} />
      <Cursor label={label} xs={xs} xFormat={xFormat} channels={channels} view={view}>
        {channels.map((channel, index) => (
          <Plot
            key={channel.id}
            xs={xs}
            channel={channel}
            bands={bands}
            view={view}
            gapFrom={gapFrom}
            xSteps={xSteps}
            xTick={index === channels.length - 1 ? xFormat : undefined}
          />
        ))}
      </Cursor>
      <ZoomLine view={view} xFormat={xFormat} />
    </div>
  );
}

interface CursorProps {
  readonly label: string;
  readonly xs: readonly number[];
  readonly xFormat: (x: number) => string;
  readonly channels: readonly Channel[];
  readonly view: View;
  readonly children: React.ReactNode;
}

/** The charts as one slider over the samples: that is what the cursor is to a keyboard and to a screen reader. */
function Cursor({ label, xs, xFormat, channels, view, children }: CursorProps) {
  const index = useStore(view.cursor);
  const last = xs.length - 1;

  function onKeyDown(event: KeyboardEvent): void {
    const next = nextIndex(event, view.cursor.get() ?? firstInView(xs, view), last);
    if (next !== undefined) view.cursor.set(Math.min(Math.max(next, 0), last));
    else if (event.key === 'Escape') view.zoom.set(null);
    else if (event.key === '+') zoomBy(xs, view, 1 / ZOOM_STEP);
    else if (event.key === '-') zoomBy(xs, view, ZOOM_STEP);
    else return;
    event.preventDefault();
  }

  const values = channels.map(
    ({ label: name, values, format }) => `${name} ${format(values[index ?? 0] ?? null)}`,
  );
  return (
    <div
      className="stack-plots"
      role="slider"
      tabIndex={0}
      aria-label={`${label}. Arrow keys move the cursor, plus and minus zoom, Escape shows everything.`}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={index ?? 0}
      aria-valuetext={index === null ? 'no cursor' : `${xFormat(xs[index] ?? 0)}: ${values.join(', ')}`}
      onKeyDown={onKeyDown}
    >
      {children}
    </div>
  );
}

function nextIndex({ key, shiftKey }: KeyboardEvent, current: number, last: number): number | undefined {
  const step = shiftKey ? LONG_STEP : 1;
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: current + step,
    ArrowUp: current + step,
    ArrowLeft: current - step,
    ArrowDown: current - step,
    PageUp: current + LONG_STEP,
    PageDown: current - LONG_STEP,
    Home: 0,
    End: last,
  };
  return steps[key];
}

const firstInView = (xs: readonly number[], view: View) => nearest(xs, view.zoom.get()?.[0] ?? xs[0] ?? 0);

/** Around the cursor, or around the middle. */
function zoomBy(xs: readonly number[], view: View, factor: number): void {
  const whole = [xs[0] ?? 0, xs.at(-1) ?? 0] as const;
  const [from, to] = view.zoom.get() ?? whole;
  const middle = xs[view.cursor.get() ?? -1] ?? (from + to) / 2;
  const half = ((to - from) * factor) / 2;
  const zoomed = [Math.max(whole[0], middle - half), Math.min(whole[1], middle + half)] as const;
  view.zoom.set(zoomed[0] === whole[0] && zoomed[1] === whole[1] ? null : zoomed);
}

interface PlotProps {
  readonly xs: readonly number[];
  readonly channel: Channel;
  readonly bands: readonly Band[];
  readonly view: View;
  readonly gapFrom: number | undefined;
  readonly xSteps: readonly number[];
  readonly xTick: ((x: number) => string) | undefined;
}

function Plot({ xs, channel, bands, view, gapFrom, xSteps, xTick }: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot>(undefined);
  useEffect(() => {
    if (!host.current) return;
    const { chart, end } = plot({ host: host.current, xs, channel, bands, view, gapFrom, xSteps, xTick });
    drawn.current = chart;
    return end;
  }, [xs, channel, bands, view, gapFrom, xSteps, xTick]);
  const extremes = useMemo(() => extremesOf(channel.values), [channel]);
  const { theme } = usePreferences();
  useEffect(() => {
    // Before its first drawing, a chart has no scale that could be drawn again.
    const redraw = () => drawn.current?.status === 1 && drawn.current.redraw();
    redraw();
    const system = window.matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', redraw);
    return () => system.removeEventListener('change', redraw);
  }, [theme]);
  return (
    <div className="stack-plot">
      <p className="stack-label">
        <b>{channel.label}</b> {channel.unit}
        {extremes && (
          <span>
            {channel.format(extremes.lowest)} to {channel.format(extremes.highest)}
          </span>
        )}
      </p>
      <div ref={host} data-channel={channel.id} className="stack-canvas" />
    </div>
  );
}

function ZoomLine({ view, xFormat }: { readonly view: View; readonly xFormat: (x: number) => string }) {
  const zoom = useStore(view.zoom);
  const words = useMemo(() => zoom && `${xFormat(zoom[0])} to ${xFormat(zoom[1])}`, [zoom, xFormat]);
  return (
    <p className="stack-zoom">
      {words ? (
        <>
          Shown: {words}.{' '}
          <button type="button" className="button-link" onClick={() => view.zoom.set(null)}>
            Show everything
          </button>
        </>
      ) : (
        'Drag across a chart to zoom; a double click shows everything again.'
      )}
    </p>
  );
}

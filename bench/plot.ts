// A plot as SVG, written by hand, so that the benchmarks need no library. Both axes are logarithmic, so a straight line upwards is growth in
// proportion, and a level line is none. Colours follow the reader's light or dark scheme; the background stays transparent.

export interface Series {
  readonly name: string;
  /** A value for each x. */
  readonly ys: readonly number[];
}

export interface Panel {
  readonly title: string;
  readonly series: readonly Series[];
}

interface Plot {
  readonly panels: readonly Panel[];
  readonly xs: readonly number[];
  readonly xLabel: string;
  readonly yLabel: string;
  readonly xText: (x: number) => string;
}

const COLUMNS = 2;
const WIDTH = 560;
const HEIGHT = 300;
// Room in a panel for the title, for the numbers of the axes, and for the names of the lines at their right ends.
const MARGIN = { top: 34, right: 250, bottom: 40, left: 52 };
const NAME_PX = 13;
const COLOURS = 8;

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #444c56 }
  .title { font-weight: 600; font-size: 14px }
  .name { font-size: 11px }
  .grid { stroke: #8b949e; stroke-opacity: .35; stroke-width: 1 }
  .line { fill: none; stroke-width: 1.8 }
  .c0 { stroke: #0969da } .c1 { stroke: #bc4c00 } .c2 { stroke: #1a7f37 } .c3 { stroke: #8250df }
  .c4 { stroke: #bf3989 } .c5 { stroke: #9a6700 } .c6 { stroke: #0e8a8a } .c7 { stroke: #6e7781 }
  .link { stroke-width: 1; stroke-opacity: .5; fill: none }
  @media (prefers-color-scheme: dark) { text { fill: #c9d1d9 } .line, .link { filter: brightness(1.45) } }`;

export function plot({ panels, ...axes }: Plot): string {
  const rows = Math.ceil(panels.length / COLUMNS);
  const [width, height] = [COLUMNS * WIDTH, rows * HEIGHT];
  const drawn = panels.map((panel, index) => {
    const at = `${(index % COLUMNS) * WIDTH} ${Math.floor(index / COLUMNS) * HEIGHT}`;
    return `<g transform="translate(${at})">${drawPanel(panel, axes)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${axes.yLabel} over ${axes.xLabel}">
<style>${STYLE}
</style>
${drawn.join('\n')}
</svg>
`;
}

type Axes = Omit<Plot, 'panels'>;
type Scale = (value: number) => number;

function drawPanel({ title, series }: Panel, axes: Axes): string {
  const { xs, xText, xLabel, yLabel } = axes;
  const powers = powersOf(series.flatMap(({ ys }) => ys));
  const right = WIDTH - MARGIN.right;
  const bottom = HEIGHT - MARGIN.bottom;
  const x = logarithmic([Math.min(...xs), Math.max(...xs)], [MARGIN.left, right]);
  const y = logarithmic([10 ** (powers[0] ?? 0), 10 ** (powers.at(-1) ?? 1)], [bottom, MARGIN.top]);
  const yGrid = powers.map((power) => {
    const at = px(y(10 ** power));
    return `<path class="grid" d="M${MARGIN.left} ${at}H${right}"/>${text(MARGIN.left - 6, at + 4, numberText(power), 'end')}`;
  });
  const xGrid = xs.map((value) => {
    const at = px(x(value));
    return `<path class="grid" d="M${at} ${MARGIN.top}V${bottom}"/>${text(at, bottom + 16, xText(value), 'middle')}`;
  });
  return [
    `<text class="title" x="${MARGIN.left}" y="18">${escaped(`${title}, ${yLabel}`)}</text>`,
    text((MARGIN.left + right) / 2, bottom + 32, xLabel, 'middle'),
    ...yGrid,
    ...xGrid,
    ...drawLines(series, xs, x, y),
  ].join('\n');
}

/** The lines and their names. Names that would overlap move down, and a thin line leads from the end of the line to its name. */
function drawLines(series: readonly Series[], xs: readonly number[], x: Scale, y: Scale): string[] {
  const ends = series
    .map(({ name, ys }, index) => ({ name, ys, colour: `c${index % COLOURS}`, end: y(ys.at(-1) ?? 1) }))
    .sort((one, other) => one.end - other.end);
  const lowest = HEIGHT - 8;
  let free = Math.min(MARGIN.top, lowest - ends.length * NAME_PX);
  return ends.map(({ name, ys, colour, end }, index) => {
    const after = (ends.length - index - 1) * NAME_PX;
    const at = px(Math.min(Math.max(end, free), lowest - after));
    free = at + NAME_PX;
    const right = WIDTH - MARGIN.right;
    const points = ys.map((value, place) => `${px(x(xs[place] ?? 1))} ${px(y(value))}`).join('L');
    return [
      `<path class="line ${colour}" d="M${points}"/>`,
      `<path class="link ${colour}" d="M${right} ${px(end)}L${right + 14} ${at}"/>`,
      `<text class="name" x="${right + 18}" y="${at + 4}">${escaped(name)}</text>`,
    ].join('');
  });
}

/** The powers of ten around all values. */
function powersOf(values: readonly number[]): number[] {
  const positive = values.filter((value) => value > 0);
  const lowest = Math.floor(Math.log10(Math.min(...positive)));
  const highest = Math.max(lowest + 1, Math.ceil(Math.log10(Math.max(...positive))));
  return Array.from({ length: highest - lowest + 1 }, (_, index) => lowest + index);
}

function logarithmic([from, to]: [number, number], [start, end]: [number, number]): Scale {
  const span = Math.log10(to / from) || 1;
  return (value) => start + ((end - start) * Math.log10(Math.max(value, from) / from)) / span;
}

function text(x: number, y: number, content: string, anchor: string): string {
  return `<text x="${px(x)}" y="${px(y)}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

const px = (value: number) => Math.round(value * 10) / 10;
const numberText = (power: number) => `${Number((10 ** power).toPrecision(1))}`;
const escaped = (content: string) => content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

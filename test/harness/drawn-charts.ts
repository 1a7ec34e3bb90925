import { type Page } from 'playwright-core';

/** A chart draws these colours of tokens.css behind its line: the card, the grid and the bands of the segments. */
const BEHIND = ['--card', '--line', '--good-soft', '--waiting-soft', '--quiet-soft', '--busy-soft'];
// Sum of the differences of red, green and blue. A thin line is mixed with what is behind it.
const LEAST_APART = 60;

/** One chart: the extremes that it says it has drawn, and the rows of the line's highest and lowest pixel as shares of the plot's height. */
export interface DrawnChart {
  readonly min: number;
  readonly max: number;
  readonly top: number;
  readonly bottom: number;
}

/** Reads the pixels of an activity's charts, by channel. A chart without a line yet is left out. */
export async function drawnCharts(page: Page): Promise<Record<string, DrawnChart>> {
  return page.evaluate(`(() => {
    const probe = document.body.appendChild(document.createElement('i'));
    const behind = ${JSON.stringify(BEHIND)}.map((token) => {
      probe.style.color = 'var(' + token + ')';
      return getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number);
    });
    probe.remove();
    const isLine = (data, at) => data[at + 3] > 0 && behind.every((colour) =>
      [0, 1, 2].reduce((sum, part) => sum + Math.abs(data[at + part] - colour[part]), 0) > ${LEAST_APART});
    return Object.fromEntries([...document.querySelectorAll('[role=slider] [data-max]')].flatMap((host) => {
      const canvas = host.querySelector('canvas');
      const outer = canvas.getBoundingClientRect();
      const plot = host.querySelector('.u-over').getBoundingClientRect();
      const scale = canvas.width / outer.width;
      const [left, above, width, height] = [plot.left - outer.left, plot.top - outer.top, plot.width, plot.height]
        .map((length) => Math.round(length * scale));
      const { data } = canvas.getContext('2d').getImageData(left, above, width, height);
      const rows = Array.from({ length: height }, (_, row) => row).filter((row) =>
        Array.from({ length: width }, (_, column) => (row * width + column) * 4).some((at) => isLine(data, at)));
      if (rows.length === 0) return [];
      const { channel, min, max } = host.dataset;
      return [[channel, { min: Number(min), max: Number(max), top: rows[0] / height, bottom: rows.at(-1) / height }]];
    }));
  })()`);
}

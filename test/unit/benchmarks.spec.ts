import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { generatedFrom } from '../../bench/page.js';
import { compactJson, compare, figure, percentile, readResults } from '../../bench/results.js';

const RESULTS = readResults();

describe('docs/benchmarks.md', () => {
  it.each(Object.entries(generatedFrom(RESULTS)))(
    '%s agrees with bench/results, from which `npm run bench -- --page` makes it',
    (file, text) => {
      expect(readFileSync(file, 'utf8')).toBe(text);
    },
  );

  it('the page of benchmarks has a command beside each ratio, and each figure below the command of its benchmark', () => {
    const page = readFileSync('docs/benchmarks.md', 'utf8');
    for (const { name, findings } of RESULTS) {
      expect(page).toContain(`\`npm run bench ${name}\``);
      for (const { what, against } of findings)
        if (against)
          expect(page).toMatch(new RegExp(`^\\| ${escaped(what)} \\|.*npm run bench ${name}`, 'm'));
    }
  });
});

describe('results of benchmarks', () => {
  it.each(RESULTS.map((result) => [result.name, result] as const))(
    '%s names the machine, the load at the start, the versions and the settings',
    (_, { conditions: { machine, versions, settings } }) => {
      expect(machine).toMatchObject({ cpu: expect.any(String), cores: expect.any(Number) });
      expect(machine.loadAtStart).toHaveLength(3);
      expect(Object.keys(versions)).toEqual(expect.arrayContaining(['node', 'postgres', 'redis', 'nats']));
      expect(settings).toHaveProperty(['postgres fsync']);
    },
  );

  it('no result is longer than 30 kB', () => {
    for (const result of RESULTS)
      expect([result.name, compactJson(result).length < 30_000]).toEqual([result.name, true]);
  });
});

describe('figures', () => {
  it('compare divides round by round, and judges the median of the ratios', () => {
    const rates = { what: 'jobs', peer: 'a queue', unit: '/s', goal: { atLeast: 2 } };
    const finding = compare({ ...rates, ours: [300, 100, 90], theirs: [100, 100, 30] });
    expect(finding.against?.ratio).toEqual({ median: 3, lowest: 1, highest: 3, rounds: 3 });
    expect(finding).toMatchObject({
      met: true,
      goal: '≥ 2×',
      measured: '3.00× (1.00 to 3.00) (100/s of 100/s)',
    });
    expect(compare({ ...rates, ours: [100], theirs: [100] }).met).toBe(false);
  });

  it('figure judges the median and tells the range', () => {
    const finding = figure({ what: 'RSS', values: [310, 250, 290], unit: 'MB', goal: { atMost: 300 } });
    expect(finding).toMatchObject({
      met: true,
      goal: '≤ 300 MB',
      measured: '290 MB (250 MB to 310 MB, n = 3)',
    });
  });

  it('percentile interpolates between two numbers', () => {
    expect(percentile([4, 1, 2, 3], 0.5)).toBe(2.5);
    expect(percentile([1, 2, 3], 1)).toBe(3);
  });

  it('compactJson keeps 60 numbers and shortens a longer list to its percentiles', () => {
    const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
    expect(JSON.parse(compactJson({ ms: numbers(60) }))).toEqual({ ms: numbers(60) });
    const shortened = { numbers: 101, min: 0, p50: 50, p95: 95, p99: 99, max: 100 };
    expect(JSON.parse(compactJson({ ms: numbers(101) }))).toEqual({ ms: shortened });
    expect(compactJson(1.23456789)).toBe('1.2346\n');
  });
});

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

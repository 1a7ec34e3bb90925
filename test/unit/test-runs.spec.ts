import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

interface TestRun {
  readonly code: number;
  readonly counts: { readonly passed: number; readonly failed: number; readonly skipped: number } | null;
  readonly flaky: readonly string[];
  readonly longest: ReadonlyArray<{ readonly file: string; readonly seconds: number }>;
}

interface JestLauncher {
  runTests(children: object, args: readonly string[], options: object): Promise<TestRun>;
}

/** Each test runs jest on a folder of its own, with these files. */
const PASSING = `test('passes', () => {});`;
const FAILING = `test('always fails', () => { throw new Error('broken\\nand more'); });`;
/** Fails the first time, and writes a file that makes it pass the next time. */
const FLAKY = `
const fs = require('node:fs');
const hasRun = fs.existsSync(__filename + '.ran');
fs.writeFileSync(__filename + '.ran', '');
test('passes', () => {});
describe('a server', () => {
  test('answers in time', () => { if (!hasRun) throw new Error('no answer\\nwithin 1 s'); });
});`;
const LOADS_THE_SECOND_TIME = `
const fs = require('node:fs');
const hasRun = fs.existsSync(__filename + '.ran');
fs.writeFileSync(__filename + '.ran', '');
if (!hasRun) throw new Error('the port is taken');
test('passes', () => {});`;
const SKIPPED = `test.skip('is for another system', () => {});`;

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'test-runs-')));
  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const load = async <Module>(name: string) =>
  (await import(new URL(`../../bin/launcher/${name}.mjs`, import.meta.url).href)) as Module;

async function run(files: Readonly<Record<string, string>>, ...args: string[]): Promise<TestRun> {
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, `${name}.test.js`), text);
  const { Children } = await load<{ Children: new (onExit: () => void) => object }>('children');
  const { runTests } = await load<JestLauncher>('jest');
  const config = JSON.stringify({ rootDir: folder, transform: {} });
  return runTests(new Children(() => undefined), ['--config', config, ...args], { stdio: 'pipe' });
}

/** How a flaky line names a file of the folder. */
const named = (name: string) => path.relative(process.cwd(), path.join(folder, `${name}.test.js`));

it('a test run passes and names the flaky test if its file passes when it runs once more, alone', async () => {
  const { code, counts, flaky, longest } = await run({ flaky: FLAKY, passing: PASSING, skipped: SKIPPED });
  expect(flaky).toEqual([`${named('flaky')} › a server answers in time: Error: no answer`]);
  expect({ code, counts }).toEqual({ code: 0, counts: { passed: 3, failed: 0, skipped: 1 } });
  expect(longest.map(({ file }) => file).sort()).toEqual(['flaky', 'passing', 'skipped'].map(named));
});

it('a test run fails if a file fails both times, and names the flaky file beside it', async () => {
  const { code, counts, flaky } = await run({ failing: FAILING, flaky: FLAKY });
  expect(flaky).toHaveLength(1);
  expect({ code, counts }).toEqual({ code: 1, counts: { passed: 2, failed: 1, skipped: 0 } });
});

it('a test run passes with two flaky files and fails with three', async () => {
  const two = await run({ one: FLAKY, other: FLAKY });
  expect([two.code, two.flaky.length]).toEqual([0, 2]);
  const three = await run({ first: FLAKY, second: FLAKY, third: FLAKY });
  expect([three.code, three.flaky.length, three.counts?.failed]).toEqual([1, 3, 0]);
});

it('a file that cannot be loaded counts as one failure, and is flaky if it loads the second time', async () => {
  const broken = await run({ broken: `throw new Error('no such module');` });
  expect([broken.code, broken.counts]).toEqual([1, { passed: 0, failed: 1, skipped: 0 }]);
  const { code, flaky } = await run({ late: LOADS_THE_SECOND_TIME }, 'late');
  expect(flaky).toEqual([expect.stringContaining(`${named('late')} › the whole file: `)]);
  expect(code).toBe(0);
});

it('eleven failed files do not run once more', async () => {
  const files = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`flaky-${n}`, FLAKY]));
  const { code, counts, flaky } = await run(files);
  expect({ code, counts, flaky }).toEqual({
    ...{ code: 1, flaky: [] },
    counts: { passed: 11, failed: 11, skipped: 0 },
  });
});

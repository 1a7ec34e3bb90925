// npm run guards [name]: removes one guard at a time from a copy of the sources and runs its test. The test must fail: otherwise no test covers
// the guard.
import './launcher/node-version.mjs';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { GUARDS } from '../test/guards/guards.mjs';
import { ensureBuilt } from './launcher/build.mjs';
import { cacheFolder, inRoot, readJson } from './launcher/files.mjs';
import { ensurePackages, tool } from './launcher/packages.mjs';
import { run } from './launcher/run.mjs';
import { startThrowAwayServers } from './launcher/servers.mjs';
import { Failure } from './launcher/terminal.mjs';

const COPIED = ['apps', 'bin', 'dist', 'docs', 'libs', 'migrations', 'test'];
const FILES = ['jest.config.mjs', 'package.json', 'tsconfig.json'];

await run(async ({ args: [wanted], children }) => {
  const guards = wanted ? GUARDS.filter(({ name }) => name === wanted) : GUARDS;
  if (guards.length === 0)
    throw new Failure(
      `There is no guard "${wanted}". There are: ${GUARDS.map(({ name }) => name).join(', ')}.`,
    );
  await ensurePackages(children);
  await ensureBuilt(children);
  const urls = await startThrowAwayServers(children);
  const copy = path.join(cacheFolder, `guards-${process.pid}`);
  try {
    copySources(copy);
    let missed = 0;
    for (const guard of guards) missed += (await isMissed(guard, { children, copy, urls })) ? 1 : 0;
    console.log(`\n${guards.length - missed} of ${guards.length} guards are covered by a test`);
    return missed > 0 ? 1 : 0;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
});

function copySources(copy) {
  mkdirSync(copy, { recursive: true });
  for (const name of [...COPIED, ...FILES]) cpSync(inRoot(name), path.join(copy, name), { recursive: true });
  symlinkSync(inRoot('node_modules'), path.join(copy, 'node_modules'));
}

/** Runs the guard's test without the guard. True if the test still passes. */
async function isMissed(guard, context) {
  const restore = remove(guard, context.copy);
  const startedAt = performance.now();
  const isWatched = await hasFailedTest(guard, context);
  restore();
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  console.log(`${isWatched ? 'ok    ' : 'MISSED'} ${guard.name.padEnd(28)} ${seconds} s`);
  return !isWatched;
}

/** Replaces the guard in the copy and returns a function that restores it. */
function remove({ file, find, replace }, copy) {
  const target = path.join(copy, file);
  const text = readFileSync(target, 'utf8');
  writeFileSync(
    target,
    text.replace(find, () => replace),
  );
  return () => writeFileSync(target, text);
}

/** True if the test failed. Throws if the test did not run, because a removal that breaks the code proves nothing. */
async function hasFailedTest({ name, spec, title }, { children, copy, urls }) {
  const report = path.join(copy, 'report.json');
  rmSync(report, { force: true });
  const args = [
    tool('jest', 'bin', 'jest.js'),
    ...['--json', `--outputFile=${report}`],
    ...['--testNamePattern', patternOf(title), '--runTestsByPath', spec],
  ];
  const { output } = await children.run(`jest of ${name}`, process.execPath, args, {
    cwd: copy,
    env: {
      ...process.env,
      ...urls,
      NODE_OPTIONS: '--experimental-vm-modules --disable-warning=ExperimentalWarning',
    },
  });
  const result = readJson(report);
  if (!result || result.numPassedTests + result.numFailedTests === 0)
    throw new Failure(`The test of ${name} did not run:\n${output}`);
  return result.numFailedTests > 0;
}

/** A pattern for the title of a test. In the title of a table of tests, `%s` stands for any text. */
function patternOf(title) {
  return title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace('%s', '.*');
}

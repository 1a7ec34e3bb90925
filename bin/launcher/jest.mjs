// Runs jest, and tells a failure from a hiccup.
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { cacheFolder, inRoot, readJson, root } from './files.mjs';
import { tool } from './packages.mjs';
import { say } from './terminal.mjs';

const ONE_FILE = inRoot('bin', 'launcher', 'one-file.cjs');
const FLAKY_FILES_ALLOWED = 2;
// So many failed files have one cause, and running them again would tell nothing new.
const RUN_AGAIN_AT_MOST = 10;
const LONGEST_SHOWN = 10;
// Each test file loads its code anew and runs it for seconds. V8 spends a sixth of that time on optimising code that then ends, and on threads
// that collect garbage beside tests that already use all cores. The V8 of Node 22 has no such budget.
const SHORT_LIVED = process.versions.node.startsWith('20.')
  ? ['--interrupt-budget=2000000', '--single-threaded-gc']
  : [];

/** Runs jest once. The report is null if jest wrote none. */
export async function runJest(children, args, { env = process.env, stdio = 'inherit' } = {}) {
  const file = path.join(cacheFolder, `jest-${process.pid}.json`);
  mkdirSync(cacheFolder, { recursive: true });
  const command = [...SHORT_LIVED, tool('jest', 'bin', 'jest.js'), '--json', `--outputFile=${file}`, ...args];
  const nodeOptions = '--experimental-vm-modules --disable-warning=ExperimentalWarning';
  const { code, output } = await children.run('jest', process.execPath, command, {
    cwd: root,
    env: { ...env, NODE_OPTIONS: [env.NODE_OPTIONS, nodeOptions].filter(Boolean).join(' ') },
    stdio,
  });
  const report = readJson(file);
  rmSync(file, { force: true });
  return { code, output, report };
}

/**
 * Runs the tests, and then each failed file once more, alone. A file that passes then is flaky: its tests count as passed, and each that
 * failed before is named in `flaky`. The code is 0 if every failed file is flaky and no more than two are. Not guaranteed: a test that
 * fails whenever another file runs beside it passes here, too.
 */
export async function runTests(children, args, options = {}) {
  const { code, report } = await runJest(children, args, options);
  if (!report) return { code: code || 1, counts: null, flaky: [], longest: [] };
  const failed = report.testResults.filter(hasFailed);
  const longest = longestOf(report);
  if (failed.length > RUN_AGAIN_AT_MOST) {
    say(`${failed.length} test files failed. Only up to ${RUN_AGAIN_AT_MOST} run once more.`);
    return { code: code || 1, counts: countsOf(report.testResults), flaky: [], longest };
  }
  const secondRuns = new Map();
  for (const { name } of failed) {
    say(`${fileName(name)} failed. It runs once more, alone.`);
    secondRuns.set(name, await runAlone(children, name, args, options));
  }
  const flakyFiles = failed.filter(({ name }) => secondRuns.get(name).passed);
  const results = report.testResults.map((result) => secondRuns.get(result.name)?.result ?? result);
  const isGreen = flakyFiles.length === failed.length && flakyFiles.length <= FLAKY_FILES_ALLOWED;
  return {
    // Without a failed file, jest itself failed or passed.
    code: failed.length === 0 || !isGreen ? code : 0,
    counts: countsOf(results),
    flaky: flakyFiles.flatMap(failuresOf),
    longest,
  };
}

async function runAlone(children, name, args, options) {
  const env = { ...(options.env ?? process.env), TEST_FILE: name };
  const { code, report } = await runJest(children, [...args, `--filter=${ONE_FILE}`], { ...options, env });
  const result = report?.testResults.find((one) => one.name === name);
  return { passed: code === 0 && result !== undefined && !hasFailed(result), result };
}

/** The counts of some test files of a report. A file that cannot be loaded counts as one failure. */
export function countsOf(testResults) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { status, assertionResults } of testResults) {
    if (status === 'failed' && !assertionResults.some(isFailure)) counts.failed += 1;
    for (const assertion of assertionResults) {
      if (assertion.status === 'passed') counts.passed += 1;
      else if (isFailure(assertion)) counts.failed += 1;
      else counts.skipped += 1;
    }
  }
  return counts;
}

const hasFailed = ({ status }) => status === 'failed';
const isFailure = ({ status }) => status === 'failed';

/** One line for each failed test of a file. */
function failuresOf({ name, message, assertionResults }) {
  const line = (title, text = '') => `${fileName(name)} › ${title}: ${firstLine(text)}`;
  const failures = assertionResults.filter(isFailure);
  if (failures.length === 0) return [line('the whole file', message)];
  return failures.map(({ fullName, failureMessages }) => line(fullName, failureMessages[0]));
}

function firstLine(text) {
  const lines = stripVTControlCharacters(text).split('\n');
  return lines.find((line) => line.trim() !== '')?.trim() ?? 'no message';
}

function longestOf({ testResults }) {
  return testResults
    .map(({ name, startTime, endTime }) => ({ file: fileName(name), seconds: (endTime - startTime) / 1_000 }))
    .sort((one, other) => other.seconds - one.seconds)
    .slice(0, LONGEST_SHOWN);
}

const fileName = (file) => path.relative(root, file);

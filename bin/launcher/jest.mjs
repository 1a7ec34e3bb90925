import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { readJson } from './files.mjs';
import { cacheFolder, root, tool } from './paths.mjs';

/** Runs jest on our ESM; answers its exit code, output and counts (null when it got no further than its start). */
export async function runJest(children, args, { env = process.env, stdio = 'inherit' } = {}) {
  const report = path.join(cacheFolder, `jest-${process.pid}.json`);
  mkdirSync(cacheFolder, { recursive: true });
  const command = [tool('jest', 'bin', 'jest.js'), '--json', `--outputFile=${report}`, ...args];
  const nodeOptions = '--experimental-vm-modules --disable-warning=ExperimentalWarning';
  const { code, output } = await children.run('jest', process.execPath, command, {
    cwd: root,
    env: { ...env, NODE_OPTIONS: [env.NODE_OPTIONS, nodeOptions].filter(Boolean).join(' ') },
    stdio,
  });
  const counts = countsOf(readJson(report));
  rmSync(report, { force: true });
  return { code, output, counts };
}

export function countsOf(report) {
  if (!report) return null;
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + report.numRuntimeErrorTestSuites, // a file that cannot even be loaded counts as one
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

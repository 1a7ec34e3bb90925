import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepResults, MACHINE } from './results.js';

// npm run chaos models: the model tests with CHAOS_RUNS (10,000) random runs each, and the seed of each. MODEL_SEED repeats a run, CHAOS_MODELS
// is a pattern of the files.
const MODEL_RUNS = process.env.CHAOS_RUNS ?? '10000';
const PATTERN =
  process.env.CHAOS_MODELS ??
  'worker-model|jobs-model|gate-model|coalescer|import-jobs|activity-store|convergence|races|night-records|delivery-model|event-queue-model|stream-counts|claims-model|vendor-budget';
// A test with 10,000 runs takes minutes to hours.
const TIMEOUT_MS = '86400000';

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly assertionResults: ReadonlyArray<{
      readonly fullName: string;
      readonly status: string;
      readonly duration?: number;
    }>;
  }>;
}

const folder = mkdtempSync(join(tmpdir(), 'pacekeeper-models-'));
const [seeds, report] = [join(folder, 'seeds'), join(folder, 'report.json')];
try {
  const code = await runJest();
  const ended = (JSON.parse(readFileSync(report, 'utf8')) as Report).testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .map(
      ({ fullName, status, duration = 0 }) =>
        [fullName, { status, seconds: Math.round(duration / 1_000) }] as const,
    );
  const results = new Map(ended);
  const rows = readFileSync(seeds, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { test: string; numRuns: number; seed: number })
    .map(({ test, ...run }) => ({ test, ...run, ...results.get(test) }));
  console.table(Object.fromEntries(rows.map(({ test, ...row }) => [test.slice(0, 110), row])));
  keepResults('models', { machine: MACHINE, rows });
  process.exitCode = code;
} finally {
  rmSync(folder, { recursive: true });
}

async function runJest(): Promise<number> {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'servers', '--json'];
  const more = ['--outputFile', report, '--testTimeout', TIMEOUT_MS, '--testPathPatterns', PATTERN];
  const child = spawn(process.execPath, [...flags, ...jest, ...more], {
    env: { ...process.env, MODEL_RUNS, MODEL_SEEDS: seeds },
    // The report goes to the file, and jest prints it as well.
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}

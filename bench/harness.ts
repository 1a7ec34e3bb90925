import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { conditionsWith } from './conditions.js';
import { writePage } from './page.js';
import { compactJson, type Finding, type Result, RESULTS } from './results.js';

export interface Child {
  readonly process: ChildProcess;
  readonly url: string;
  stop(): Promise<void>;
}

// BENCH_PROFILE names a folder: each started program writes the profile of its processor time there when it ends.
const { BENCH_PROFILE } = process.env;
const PROFILE = BENCH_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${BENCH_PROFILE}`] : [];

/** Starts a program and waits for its log line `ready`, which contains its URLs. */
export async function startChild(
  file: string,
  env: NodeJS.ProcessEnv = {},
  flags: readonly string[] = [],
): Promise<Child> {
  const child = spawn(process.execPath, [...flags, ...PROFILE, file], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
    const lines = createInterface(child.stdout);
    lines.on('line', (text) => {
      const line = JSON.parse(text) as { msg: string; urls?: string[] };
      if (line.msg !== 'ready' || !line.urls?.[0]) return;
      resolve(line.urls[0]);
      // A slow reader of the log would make the program keep its lines in memory.
      lines.close();
      child.stdout.resume();
    });
  });
  return {
    process: child,
    url,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

export function residentMegabytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}

const CLOCK_TICKS_PER_SECOND = 100;

/** The processor time that the program has used so far, user and system time together. */
export function processorSeconds(pid: number): number {
  const [, afterName = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = afterName.split(' ').slice(11, 13);
  return (Number(user) + Number(system)) / CLOCK_TICKS_PER_SECOND;
}

/** How many rounds a benchmark makes: BENCH_ROUNDS, or the number that it needs for a stable median. */
export function roundsOr(usual: number): number {
  return Number(process.env.BENCH_ROUNDS ?? usual);
}

const checks = new Map<string, number>();

/** A benchmark that loses or repeats work measures something else, so a wrong number ends it. The result says how often each check was made. */
export function verify(what: string, actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${what}: ${actual} instead of ${expected}`);
  checks.set(what, (checks.get(what) ?? 0) + 1);
}

interface Report {
  readonly name: string;
  readonly findings: readonly Finding[];
  /** The packages that the benchmark compares with. */
  readonly peers?: readonly string[];
  readonly raw: unknown;
}

/** Prints conditions and findings, writes them with the raw numbers to bench/results, and makes docs/benchmarks.md anew from all results. */
export async function report({ name, findings, peers = [], raw }: Report): Promise<void> {
  const conditions = await conditionsWith(peers);
  const { machine, versions } = conditions;
  const named = Object.entries(versions).map(([what, version]) => `${what} ${version}`);
  console.log(
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, load ${machine.loadAtStart.join(' ')}`,
  );
  console.log(named.join(', '));
  console.table(
    Object.fromEntries(
      findings.map(({ what, measured, goal, met, against }) => [
        against ? `${what}: ${against.peer}` : what,
        { measured, goal, met },
      ]),
    ),
  );
  const made = [...checks].map(([what, times]) => ({ what, times }));
  const result: Result = { name, conditions, findings, checks: made, raw };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}/${name}.json`, compactJson(result));
  writePage();
  if (findings.some(({ met }) => !met)) process.exitCode = 1;
}

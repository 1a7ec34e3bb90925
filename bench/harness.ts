import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { createInterface } from 'node:readline';

export interface Child {
  readonly process: ChildProcess;
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a program and waits for its log line that says `ready` and where. */
export async function startChild(
  file: string,
  env: NodeJS.ProcessEnv = {},
  flags: readonly string[] = [],
): Promise<Child> {
  const child = spawn(process.execPath, [...flags, file], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
    createInterface(child.stdout).on('line', (text) => {
      const line = JSON.parse(text) as { msg: string; urls?: string[] };
      if (line.msg === 'ready' && line.urls?.[0]) resolve(line.urls[0]);
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

/** Processor time used so far, by the program and by the kernel for it. */
export function processorSeconds(pid: number): number {
  const [, afterName = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = afterName.split(' ').slice(11, 13);
  return (Number(user) + Number(system)) / CLOCK_TICKS_PER_SECOND;
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

export interface Finding {
  readonly what: string;
  readonly measured: string;
  readonly goal: string;
  readonly met: boolean;
}

/** A table for people; the raw numbers, with what they were measured on, for programs. */
export function report(name: string, findings: readonly Finding[], raw: unknown): void {
  console.table(
    Object.fromEntries(findings.map(({ what, measured, goal, met }) => [what, { measured, goal, met }])),
  );
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  mkdirSync('bench/results', { recursive: true });
  const result = { name, at: new Date().toISOString(), machine, findings, raw };
  writeFileSync(`bench/results/${name}.json`, `${JSON.stringify(result, null, 2)}\n`);
  if (findings.some(({ met }) => !met)) process.exitCode = 1;
}

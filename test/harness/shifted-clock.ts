import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const MINUTE_MS = 60_000;
const SOURCE = resolve('test/harness/shifted-clock.c');

let library: { readonly file: string; readonly kernelBehindMs: number } | undefined;

/**
 * The environment of a Redis or Postgres whose clock is ahead by `aheadMs`, or behind if that is negative. The library is compiled once for
 * each process; it stays in the folder for temporary files. Throws where there is no C compiler.
 */
export function shiftedClock(aheadMs: number): Readonly<Record<string, string>> {
  if (aheadMs === 0) return {};
  library ??= compiled();
  return { LD_PRELOAD: library.file, CLOCK_AHEAD_MS: String(aheadMs + library.kernelBehindMs) };
}

/** False where there is no C compiler. */
export function canShiftClocks(): boolean {
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return false;
  }
}

function compiled(): { file: string; kernelBehindMs: number } {
  const folder = mkdtempSync(join(tmpdir(), 'pacekeeper-clock-'));
  // Postgres runs as a user of its own, and a library that cannot be read is ignored.
  chmodSync(folder, 0o755);
  const file = join(folder, 'clock.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', file, SOURCE]);
  // The library asks the kernel, which dates files. If the tests run as if it were another day, this process is ahead of the kernel.
  const behindMs = Date.now() - statSync(file).mtimeMs;
  return { file, kernelBehindMs: Math.round(behindMs / MINUTE_MS) * MINUTE_MS };
}

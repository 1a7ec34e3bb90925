import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const SOURCE = resolve('test/harness/shifted-clock.c');

let library: string | undefined;

/**
 * The environment of a Redis or Postgres whose clock is ahead by `aheadMs`, or behind if that is negative. The library is compiled once for
 * each process; it stays in the folder for temporary files. Throws where there is no C compiler.
 */
export function shiftedClock(aheadMs: number): Readonly<Record<string, string>> {
  if (aheadMs === 0) return {};
  library ??= compiled();
  return { LD_PRELOAD: library, CLOCK_AHEAD_MS: String(aheadMs) };
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

function compiled(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pacekeeper-clock-'));
  // Postgres runs as a user of its own, and a library that cannot be read is ignored.
  chmodSync(folder, 0o755);
  const file = join(folder, 'clock.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', file, SOURCE]);
  return file;
}

import { setTimeout as pause } from 'node:timers/promises';
import { DependencyUnavailable, Gather } from '#platform';
import { type EndedRun, type RunOutcome } from '../lifecycle/run.js';
import { type Runs } from '../lifecycle/runs.js';
import { textOf } from './execute.js';

const TRIES = 6;
const FIRST_PAUSE_MS = 200;
// deadlock_detected, serialization_failure: nothing was written, and the next try can succeed.
const TRANSIENT = new Set(['40P01', '40001']);
// Data exceptions (a NUL in a text) and server limits (JSON nested too deep): every further try would fail as well.
const UNSTORABLE = /^(22|54)/;

/**
 * Writes the outcomes of runs, with one statement per turn of the event loop. While Postgres is away, or after a deadlock,
 * the write is tried again, and the leases are renewed meanwhile.
 *
 * | try | after  | in total |
 * | --- | ------ | -------- |
 * | 1   | at once| 0 s      |
 * | 2   | 0.2 s  | 0.2 s    |
 * | 3   | 0.4 s  | 0.6 s    |
 * | 4   | 0.8 s  | 1.4 s    |
 * | 5   | 1.6 s  | 3 s      |
 * | 6   | 3.2 s  | 6.2 s    |
 *
 * After the sixth try `complete` rejects, and the job is taken back when its lease has expired. An output that Postgres cannot
 * store fails its run for good.
 */
export class Completions {
  private readonly gather = new Gather<EndedRun, boolean>((ended) => this.writeAll(ended), {
    turnEnd: 'poll',
  });

  constructor(
    private readonly owner: string,
    private readonly runs: Runs,
  ) {}

  /** False if the run had lost its lease: nothing was written. */
  complete(ended: EndedRun): Promise<boolean> {
    return this.gather.submit(ended);
  }

  private async writeAll(ended: readonly EndedRun[]): Promise<boolean[]> {
    const written = await this.write(ended);
    return ended.map(({ claim }) => written.has(claim.run_id));
  }

  private async write(ended: readonly EndedRun[]): Promise<ReadonlySet<string>> {
    try {
      return await this.writeWithRetries(ended);
    } catch (error) {
      if (isTransient(error)) throw error;
      return this.writeApart(ended, error);
    }
  }

  private async writeWithRetries(ended: readonly EndedRun[]): Promise<ReadonlySet<string>> {
    for (let tries = 1; ; tries += 1) {
      try {
        return tries === 1 ? await this.runs.complete(this.owner, ended) : await this.writeAgain(ended);
      } catch (error) {
        if (!isTransient(error) || tries === TRIES) throw error;
        await pause(FIRST_PAUSE_MS * 2 ** (tries - 1));
      }
    }
  }

  /** Leaves out runs that an earlier try has ended: that try may have succeeded although its answer was lost. */
  private async writeAgain(ended: readonly EndedRun[]): Promise<ReadonlySet<string>> {
    const before = await this.runs.hasEnded(
      this.owner,
      ended.map(({ claim }) => claim),
    );
    const open = ended.filter(({ claim }) => !before.has(claim.run_id));
    if (open.length === 0) return before;
    return new Set([...before, ...(await this.runs.complete(this.owner, open))]);
  }

  /** Writes each outcome with a statement of its own, so that one unstorable output does not fail the other runs. */
  private async writeApart(ended: readonly EndedRun[], error: unknown): Promise<ReadonlySet<string>> {
    const [first, ...others] = ended;
    if (!first) return new Set();
    if (others.length === 0) return this.writeUnstorable(first, error);
    const written = await Promise.all(ended.map((one) => this.write([one])));
    return new Set(written.flatMap((ids) => [...ids]));
  }

  private writeUnstorable({ claim, outcome }: EndedRun, error: unknown): Promise<ReadonlySet<string>> {
    const { code = '' } = error as { code?: string };
    if (outcome.kind !== 'succeeded' || !UNSTORABLE.test(code)) throw error;
    const failed: RunOutcome = { kind: 'failed', error: `The output cannot be stored: ${textOf(error)}` };
    return this.writeWithRetries([{ claim, outcome: failed }]);
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof DependencyUnavailable || TRANSIENT.has((error as { code?: string }).code ?? '');
}

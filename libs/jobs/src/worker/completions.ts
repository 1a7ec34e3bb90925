import { setTimeout as pause } from 'node:timers/promises';
import { DependencyUnavailable, Gather } from '#platform';
import { type EndedRun, type Ending } from '../lifecycle/run.js';
import { type Runs } from '../lifecycle/runs.js';
import { textOf } from './execute.js';

// 0.2 + 0.4 + … s: some six seconds, in which leases are renewed as before. What is not written then is the sweep's.
const TRIES = 6;
const FIRST_PAUSE_MS = 200;
// deadlock_detected, serialization_failure: nothing was written, and the next time it will be.
const PASSING = new Set(['40P01', '40001']);
// Data exceptions (a NUL in a text) and limits of the server (JSON that is too deep): about what is written, and no other time better.
const UNSTORABLE = /^(22|54)/;

/** Writes how runs ended, those of one turn of the event loop together. */
export class Completions {
  private readonly gather = new Gather<EndedRun, boolean>((ended) => this.writeAll(ended), {
    turnEnd: 'poll',
  });

  constructor(
    private readonly owner: string,
    private readonly runs: Runs,
  ) {}

  /** False where the run was over: nothing was written. */
  complete(ended: EndedRun): Promise<boolean> {
    return this.gather.ask(ended);
  }

  private async writeAll(ended: readonly EndedRun[]): Promise<boolean[]> {
    const written = await this.write(ended);
    return ended.map(({ claim }) => written.has(claim.run_id));
  }

  private async write(ended: readonly EndedRun[]): Promise<ReadonlySet<string>> {
    try {
      return await this.writeThroughTrouble(ended);
    } catch (error) {
      if (isPassing(error)) throw error;
      return this.writeApart(ended, error);
    }
  }

  private async writeThroughTrouble(ended: readonly EndedRun[]): Promise<ReadonlySet<string>> {
    for (let tries = 1; ; tries += 1) {
      try {
        return tries === 1 ? await this.runs.complete(this.owner, ended) : await this.writeAgain(ended);
      } catch (error) {
        if (!isPassing(error) || tries === TRIES) throw error;
        await pause(FIRST_PAUSE_MS * 2 ** (tries - 1));
      }
    }
  }

  /** What was lost may have been the answer alone. */
  private async writeAgain(ended: readonly EndedRun[]): Promise<ReadonlySet<string>> {
    const before = await this.runs.hasEnded(
      this.owner,
      ended.map(({ claim }) => claim),
    );
    const open = ended.filter(({ claim }) => !before.has(claim.run_id));
    if (open.length === 0) return before;
    return new Set([...before, ...(await this.runs.complete(this.owner, open))]);
  }

  /** The database does not take it (a NUL in a text, JSON that is too deep): one output must not take the others with it. */
  private async writeApart(ended: readonly EndedRun[], error: unknown): Promise<ReadonlySet<string>> {
    const [first, ...others] = ended;
    if (!first) return new Set();
    if (others.length === 0) return this.writeUnstorable(first, error);
    const written = await Promise.all(ended.map((one) => this.write([one])));
    return new Set(written.flatMap((ids) => [...ids]));
  }

  private writeUnstorable({ claim, ending }: EndedRun, error: unknown): Promise<ReadonlySet<string>> {
    const { code = '' } = error as { code?: string };
    if (ending.kind !== 'succeeded' || !UNSTORABLE.test(code)) throw error;
    const failed: Ending = { kind: 'failed', error: `The output cannot be stored: ${textOf(error)}` };
    return this.writeThroughTrouble([{ claim, ending: failed }]);
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof DependencyUnavailable || PASSING.has((error as { code?: string }).code ?? '');
}

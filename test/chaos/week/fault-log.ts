import { type World } from '../../harness/world.js';
import { type Progress, Stalls } from '../stalls.js';
import { PROVIDERS } from './accounts.js';

/** How often a fault came, and what was seen until it was over. */
export interface FaultRecord {
  times: number;
  overLimit: number;
  /** The longest time in seconds without progress of each part. */
  readonly stalls: Record<string, number>;
}

/** A source of faults while the athletes live. */
export interface Trouble {
  readonly records: ReadonlyMap<string, FaultRecord>;
  start(): void;
  /** Resolves when all that was broken is whole again. */
  stop(): Promise<void>;
}

/** Measures the stalls during each fault, and counts the calls over a vendor's limit. */
export class FaultLog {
  readonly records = new Map<string, FaultRecord>();
  private readonly stalls: Stalls;

  constructor(
    private readonly world: World,
    progress: () => Progress,
  ) {
    this.stalls = new Stalls(() => Promise.resolve(progress()));
  }

  async during(name: string, cause: () => Promise<void>): Promise<void> {
    const before = await this.overLimit();
    this.stalls.take();
    await cause();
    this.note(name, (await this.overLimit()) - before, this.stalls.take());
  }

  /** A fault that comes beside others has no stalls of its own. */
  async beside(name: string, cause: () => Promise<void>): Promise<void> {
    const before = await this.overLimit();
    await cause();
    this.note(name, (await this.overLimit()) - before, {});
  }

  stop(): Promise<void> {
    return this.stalls.stop();
  }

  private note(name: string, overLimit: number, stalls: Readonly<Record<string, number>>): void {
    const record = this.records.get(name) ?? { times: 0, overLimit: 0, stalls: {} };
    record.times += 1;
    record.overLimit += overLimit;
    for (const [part, seconds] of Object.entries(stalls))
      record.stalls[part] = Math.max(seconds, record.stalls[part] ?? 0);
    this.records.set(name, record);
  }

  private async overLimit(): Promise<number> {
    const stats = await this.world.control<Record<string, { over_limit: number }>>('GET', 'stats');
    return PROVIDERS.reduce((sum, vendor) => sum + (stats[vendor]?.over_limit ?? 0), 0);
  }
}

import { setTimeout as pause } from 'node:timers/promises';

const EVERY_MS = 50;

/** How far each part of the product has come, as numbers that rise. */
export type Progress = Readonly<Record<string, number>>;

/** Reads the progress every 50 ms and finds the longest time in which a part made none. */
export class Stalls {
  private readonly longestMs = new Map<string, number>();
  private readonly last = new Map<string, { readonly value: number; readonly atMs: number }>();
  private isRunning = true;
  private readonly running: Promise<void>;

  constructor(private readonly read: () => Promise<Progress>) {
    this.running = this.run();
  }

  /** The longest stall of each part in seconds since the last call. */
  take(): Record<string, number> {
    const seconds = [...this.longestMs].map(([part, ms]) => [part, Number((ms / 1_000).toFixed(1))] as const);
    this.longestMs.clear();
    return Object.fromEntries(seconds);
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    await this.running;
  }

  private async run(): Promise<void> {
    while (this.isRunning) {
      const atMs = performance.now();
      for (const [part, value] of Object.entries(await this.read())) {
        const before = this.last.get(part) ?? { value, atMs };
        this.longestMs.set(part, Math.max(this.longestMs.get(part) ?? 0, atMs - before.atMs));
        if (value !== before.value || !this.last.has(part)) this.last.set(part, { value, atMs });
      }
      await pause(EVERY_MS);
    }
  }
}

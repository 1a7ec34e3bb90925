import { setTimeout as pause } from 'node:timers/promises';

const BETWEEN_MS = 50;

/** Repeats an attempt without end and remembers when it succeeded, so that a fault's longest stall can be read afterwards. */
export class Pulse {
  private readonly successesMs: number[] = [];
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private failures = 0;

  constructor(
    readonly name: string,
    private readonly attempt: () => Promise<boolean>,
  ) {}

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  get failed(): number {
    return this.failures;
  }

  succeededSince(fromMs: number): boolean {
    return (this.successesMs.at(-1) ?? 0) > fromMs;
  }

  /** Seconds of the longest time without a success since then. */
  longestStall(fromMs: number): number {
    const times = [fromMs, ...this.successesMs.filter((atMs) => atMs > fromMs), performance.now()];
    const gaps = times.slice(1).map((atMs, index) => atMs - (times[index] as number));
    return Math.round(Math.max(...gaps) / 100) / 10;
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const isDone = await this.attempt().catch(() => false);
      if (isDone) this.successesMs.push(performance.now());
      else this.failures += 1;
      await pause(BETWEEN_MS);
    }
  }
}

import { type Logger } from '../logging/logger.js';

const PAUSE_AFTER_FAILURE_MS = 1_000;

/**
 * Repeats a pass until it is stopped. Each pass returns the length of the pause after it. If a pass throws, the pause is 1 s. `wake` ends
 * the pause early. Passes never overlap.
 */
export class Loop {
  private isStopping = false;
  private isWoken = false;
  private wakeUp: () => void = () => undefined;
  private running: Promise<void> | undefined;

  /** `pass` returns the pause until the next pass, in ms. */
  constructor(
    private readonly name: string,
    private readonly pass: () => Promise<number>,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Ends the pause. If a pass is running, the next pass follows at once. */
  wake(): void {
    this.isWoken = true;
    this.wakeUp();
  }

  /** Resolves once the present pass has ended. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.isStopping) {
      this.isWoken = false;
      const pauseMs = await this.pass().catch((err: unknown) => {
        this.logger.warn({ err, loop: this.name }, 'a pass of the loop failed');
        return PAUSE_AFTER_FAILURE_MS;
      });
      if (pauseMs > 0 && !this.isWoken) await this.sleep(pauseMs);
    }
  }

  private async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wakeUp = () => undefined;
  }
}

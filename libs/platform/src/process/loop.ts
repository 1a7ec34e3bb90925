import { type Logger } from '../logging/logger.js';

const PAUSE_AFTER_FAILURE_MS = 1_000;

/** Does its work again and again: after as long as the work says, or as soon as somebody wakes it. */
export class Loop {
  private isStopping = false;
  private isWoken = false;
  private wakeUp: () => void = () => undefined;
  private running: Promise<void> | undefined;

  /** `pass` answers how many ms later it wants to be called again. */
  constructor(
    private readonly name: string,
    private readonly pass: () => Promise<number>,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  wake(): void {
    this.isWoken = true;
    this.wakeUp();
  }

  /** The pass under way is finished. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.isStopping) {
      this.isWoken = false;
      const pauseMs = await this.pass().catch((err: unknown) => {
        this.logger.warn({ err, loop: this.name }, 'pass failed');
        return PAUSE_AFTER_FAILURE_MS;
      });
      if (pauseMs > 0 && !this.isWoken) await this.rest(pauseMs);
    }
  }

  private async rest(ms: number): Promise<void> {
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

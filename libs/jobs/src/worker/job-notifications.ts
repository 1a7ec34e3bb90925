import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type Logger, Loop } from '#platform';

const RECONNECT_MS = 1_000;

export interface Patience {
  /** A link that is open at this end only is noticed by a question that is not answered. */
  readonly heartbeatMs: number;
  readonly answerWithinMs: number;
}

const PATIENCE: Patience = { heartbeatMs: 5_000, answerWithinMs: 2_000 };

/**
 * Hears of new jobs, on a connection of its own: one of the pool's would be given to others. Rings also whenever it has
 * connected, for what came while nobody listened.
 */
export class JobNotifications {
  private readonly stopped = new AbortController();
  private readonly loop: Loop;
  private ring: () => void = () => undefined;

  constructor(
    private readonly databaseUrl: string,
    private readonly logger: Logger,
    private readonly patience = PATIENCE,
  ) {
    this.loop = new Loop('job notifications', () => this.untilBroken(), logger);
  }

  start(ring: () => void): void {
    this.ring = ring;
    this.loop.start();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.loop.stop();
  }

  private async untilBroken(): Promise<number> {
    try {
      await this.listen();
    } catch (err) {
      if (!this.stopped.signal.aborted) this.logger.warn({ err }, 'job notifications interrupted');
    }
    return RECONNECT_MS;
  }

  /** Ends by an error only. */
  private async listen(): Promise<never> {
    const socket = new Socket();
    const client = this.clientOn(socket);
    const over = new AbortController();
    const end = (error?: unknown) => {
      over.abort(error);
      socket.destroy();
    };
    client.on('error', end);
    client.on('end', end);
    client.on('notification', () => this.ring());
    this.stopped.signal.addEventListener('abort', end);
    try {
      await client.connect();
      await client.query('listen runtime_jobs');
      this.ring();
      for (;;) {
        await pause(this.patience.heartbeatMs, undefined, { signal: over.signal });
        await client.query('select 1');
      }
    } finally {
      this.stopped.signal.removeEventListener('abort', end);
      // Not `client.end()`, which waits for a goodbye that may never come.
      socket.destroy();
    }
  }

  private clientOn(socket: Socket): pg.Client {
    return new pg.Client({
      connectionString: this.databaseUrl,
      application_name: 'pacekeeper-job-notifications',
      stream: () => socket,
      connectionTimeoutMillis: this.patience.answerWithinMs,
      query_timeout: this.patience.answerWithinMs,
    });
  }
}

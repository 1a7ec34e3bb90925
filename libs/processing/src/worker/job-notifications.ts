import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type Logger, Loop, Primary } from '#platform';

const RECONNECT_MS = 1_000;

export interface ListenTimes {
  /** A half-open connection is noticed by a heartbeat query without an answer. */
  readonly heartbeatMs: number;
  readonly answerWithinMs: number;
}

const LISTEN_TIMES: ListenTimes = { heartbeatMs: 5_000, answerWithinMs: 2_000 };

/**
 * Calls `wake` when Postgres notifies of new jobs, and after each reconnect, for notifications missed meanwhile. It listens on a connection of
 * its own, since a connection of the pool is shared. It reconnects 1 s after a break. Notifications may be lost: the worker also polls.
 */
export class JobNotifications {
  private readonly stopped = new AbortController();
  private readonly loop: Loop;
  private readonly primary: Primary;
  private wake: () => void = () => undefined;

  /** `databaseUrl` may name several servers, and must not lead to a pooler: LISTEN belongs to a session. */
  constructor(
    databaseUrl: string,
    private readonly logger: Logger,
    private readonly times = LISTEN_TIMES,
  ) {
    this.primary = new Primary(databaseUrl);
    this.loop = new Loop('job notifications', () => this.untilBroken(), logger);
  }

  start(wake: () => void): void {
    this.wake = wake;
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
      this.primary.doubt(this.primary.epoch);
      if (!this.stopped.signal.aborted) this.logger.warn({ err }, 'job notifications interrupted');
    }
    return RECONNECT_MS;
  }

  /** Never resolves; rejects when the connection breaks or the worker stops. */
  private async listen(): Promise<never> {
    const url = await this.primary.find();
    const socket = new Socket();
    const client = this.clientOn(url, socket);
    const over = new AbortController();
    const end = (error?: unknown) => {
      over.abort(error);
      socket.destroy();
    };
    client.on('error', end);
    client.on('end', end);
    client.on('notification', () => this.wake());
    this.stopped.signal.addEventListener('abort', end);
    try {
      await client.connect();
      await client.query('listen runtime_jobs');
      this.wake();
      for (;;) {
        await pause(this.times.heartbeatMs, undefined, { signal: over.signal });
        await client.query('select 1');
      }
    } finally {
      this.stopped.signal.removeEventListener('abort', end);
      // Not `client.end()`: on a broken connection it waits for the server for ever.
      socket.destroy();
    }
  }

  private clientOn(connectionString: string, socket: Socket): pg.Client {
    return new pg.Client({
      connectionString,
      application_name: 'pacekeeper-job-notifications',
      stream: () => socket,
      connectionTimeoutMillis: this.times.answerWithinMs,
      query_timeout: this.times.answerWithinMs,
    });
  }
}

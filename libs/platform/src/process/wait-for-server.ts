import { setTimeout as pause } from 'node:timers/promises';
import { type Logger } from '../logging/logger.js';
import { isFinal, reasonOf, ServerNotReady, ServerUnfit } from './server-failure.js';

export interface ServerWait {
  /** Name for operators: `Postgres`. */
  readonly server: string;
  /** host:port. */
  readonly at: string;
  readonly waitMs: number;
  readonly logger: Logger;
  /** Ends the wait early, when the process cannot start anyway. */
  readonly signal?: AbortSignal;
}

const BETWEEN_MS = 500;
const LOG_EVERY_MS = 10_000;

/**
 * Repeats the attempt every 0.5 s until it succeeds or `waitMs` have passed, because a server may start after this process. Logs the first
 * reason, each change of the reason, and every 10 s.
 *
 * Throws ServerUnfit when `waitMs` have passed or `signal` aborts. It throws at once if waiting cannot help (a wrong password).
 */
export async function waitForServer<T>(wait: ServerWait, attempt: () => Promise<T>): Promise<T> {
  const { server, at, waitMs, logger, signal } = wait;
  const endsAtMs = performance.now() + waitMs;
  const logged = { reason: '', atMs: 0 };
  for (;;) {
    try {
      return await attempt();
    } catch (cause) {
      if (cause instanceof ServerUnfit) throw cause;
      const reason = reasonOf(cause);
      const isOver = signal?.aborted || performance.now() >= endsAtMs || isFinal(cause);
      const problem = cause instanceof ServerNotReady ? 'is not ready' : 'cannot be reached';
      if (isOver) throw new ServerUnfit(`${server} at ${at} ${problem}: ${reason}`, { cause });
      if (reason !== logged.reason || performance.now() - logged.atMs >= LOG_EVERY_MS) {
        logger.warn({ server, at }, `waiting for ${server} at ${at}: ${reason}`);
        Object.assign(logged, { reason, atMs: performance.now() });
      }
    }
    await pause(BETWEEN_MS);
  }
}

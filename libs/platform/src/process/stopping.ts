import { setTimeout as pause } from 'node:timers/promises';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { HealthRegistry } from '../health/health-registry.js';
import { type Logger } from '../logging/logger.js';
import { startAtZero } from '../metrics/start-at-zero.js';
import { type Tracing } from '../tracing/tracing.js';
import { type FastifyInstance } from 'fastify';
import { Counter } from 'prom-client';

export interface Running {
  readonly apps: NestFastifyApplication[];
  readonly tracing: Tracing;
  readonly logger: Logger;
  /** Time between the 503 of readiness and the closing of the port, so that load balancers notice first. */
  readonly delayMs: number;
}

interface StopLimits {
  /** Time from the closing of the port until connections that are still in use are cut. */
  readonly cutMs: number;
  readonly exitMs: number;
  readonly longestDelayMs: number;
  readonly exitCode: number;
}

// Kubernetes kills a process after 30 s by default. Without SHUTDOWN_DELAY_SECONDS, the process ends before that.
const ON_SIGNAL: StopLimits = { cutMs: 15_000, exitMs: 25_000, longestDelayMs: Infinity, exitCode: 0 };
// After an exception the state of the process is unknown, so the process ends within 10 s.
const ON_EXCEPTION: StopLimits = { cutMs: 5_000, exitMs: 7_000, longestDelayMs: 3_000, exitCode: 1 };
const IDLE_CHECK_MS = 100;

/**
 * Stops the process on the first signal or uncaught exception. Later signals and exceptions change nothing.
 *
 * | after a signal         | after an exception | what happens                                                                  |
 * | ---------------------- | ------------------ | ----------------------------------------------------------------------------- |
 * | 0                      | 0                  | readiness answers 503, every answer closes its connection                     |
 * | SHUTDOWN_DELAY_SECONDS | the same, max. 3 s | no new connections; open requests are finished, then servers are disconnected |
 * | + 15 s                 | + 5 s              | connections that are still in use are cut                                     |
 * | + 25 s                 | + 7 s              | exit with code 1                                                              |
 */
export class Stopping {
  private hasBegun = false;

  constructor(private readonly running: Running) {}

  onSignal(signal: NodeJS.Signals): void {
    if (this.hasBegun) return;
    this.running.logger.info({ signal }, 'stopping');
    this.begin(ON_SIGNAL);
  }

  onException(): void {
    if (!this.hasBegun) this.begin(ON_EXCEPTION);
  }

  private begin(limits: StopLimits): void {
    this.hasBegun = true;
    const { apps, logger } = this.running;
    const delayMs = Math.min(this.running.delayMs, limits.longestDelayMs);
    setTimeout(() => {
      logger.error('the process did not stop in time');
      this.exit(1);
    }, delayMs + limits.exitMs).unref();
    for (const app of apps) app.get(HealthRegistry).drain();
    this.close(limits, delayMs).catch((err: unknown) => {
      logger.error({ err }, 'closing failed');
      this.exit(1);
    });
  }

  private async close({ cutMs, exitCode }: StopLimits, delayMs: number): Promise<void> {
    const { apps, tracing, logger } = this.running;
    if (delayMs > 0) await pause(delayMs);
    // A keep-alive connection would keep the server from closing.
    setInterval(
      () => apps.forEach((app) => app.getHttpServer().closeIdleConnections()),
      IDLE_CHECK_MS,
    ).unref();
    setTimeout(() => apps.forEach((app) => app.getHttpServer().closeAllConnections()), cutMs).unref();
    const closed = await Promise.allSettled(apps.map((app) => app.close()));
    // Tracing stops last. Otherwise the spans of requests that finish during the stop would be lost.
    closed.push(...(await Promise.allSettled([tracing.stop()])));
    const failures = closed.filter((result) => result.status === 'rejected');
    for (const { reason } of failures) logger.error({ err: reason as unknown }, 'closing failed');
    logger.info('stopped');
    this.exit(failures.length > 0 ? 1 : exitCode);
  }

  private exit(code: number): void {
    this.running.logger.flush(() => process.exit(code));
  }
}

/** While the process drains, each answer closes its connection, so that clients reconnect to another process. */
export function closeConnectionsWhile(isDraining: () => boolean, server: FastifyInstance): void {
  server.addHook('onRequest', (_request, reply, done) => {
    if (isDraining()) void reply.header('connection', 'close');
    done();
  });
}

const unexpectedErrors = new Counter({
  name: 'unexpected_errors_total',
  help: 'Uncaught errors outside of any request or job',
  labelNames: ['kind'],
});
startAtZero(unexpectedErrors, [{ kind: 'unhandled_rejection' }, { kind: 'uncaught_exception' }]);

/**
 * Handles uncaught errors. A rejected promise affects only the work that did not await it. It is logged and counted, and the process
 * continues.
 *
 * An exception (in a timer, an `error` event without a listener) may have left any state half done. The process finishes open requests and
 * exits. The supervisor then restarts the process.
 */
export function watchForUnexpected(logger: Logger, onException: () => void): void {
  process.on('unhandledRejection', (err) => {
    unexpectedErrors.inc({ kind: 'unhandled_rejection' });
    logger.error({ err }, 'unhandled promise rejection');
  });
  process.on('uncaughtException', (err) => {
    unexpectedErrors.inc({ kind: 'uncaught_exception' });
    logger.fatal({ err }, 'uncaught exception: the process ends');
    onException();
  });
}

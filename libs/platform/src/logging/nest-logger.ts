import { type LoggerService } from '@nestjs/common';
import { type Logger } from './logger.js';

/** Nest's own messages as lines of ours. Its start-up chatter is of interest only when debugging. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: string): void {
    this.logger.debug({ context }, String(message));
  }

  error(message: unknown, ...rest: unknown[]): void {
    const err = message instanceof Error ? message : undefined;
    this.logger.error(
      { err, context: rest.at(-1), stack: err ? undefined : rest[0] },
      err?.message ?? String(message),
    );
  }

  warn(message: unknown, context?: string): void {
    this.logger.warn({ context }, String(message));
  }

  debug(message: unknown, context?: string): void {
    this.logger.debug({ context }, String(message));
  }

  verbose(message: unknown, context?: string): void {
    this.logger.trace({ context }, String(message));
  }
}

import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { type LoggerService } from '@nestjs/common';
import { currentTraceId } from '../tracing/tracing.js';
import { withoutSecrets } from './redact.js';

export type Logger = PinoLogger;

interface LoggerOptions {
  readonly level: string;
  readonly process: string;
  /** Adds the id of the current trace to every line. */
  readonly traced?: boolean;
  readonly destination?: DestinationStream;
}

/** Makes a logger that writes JSON lines without secrets (see `withoutSecrets`). */
export function createLogger({ level, process: name, traced, destination }: LoggerOptions): Logger {
  const options = {
    level,
    base: { process: name },
    // `withoutSecrets` has already replaced errors; pino's own serializer would add all their fields again.
    serializers: { err: (facts: unknown) => facts },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: object) => withoutSecrets(fields) as Record<string, unknown>,
    },
    ...(traced && { mixin: currentTrace }),
  };
  // The destination is asynchronous, because a synchronous line costs a tenth of a trivial request. A line stays in the buffer only while
  // the line before is written. `flush` writes the rest before the process ends.
  return pino(options, destination ?? pino.destination({ sync: false }));
}

/** Makes a logger for a tool that a person runs: each warning is one line on stderr, such as `migrate: waiting for Postgres …`. */
export function createToolLogger(name: string): Logger {
  const write = (line: string) => console.error(`${name}: ${(JSON.parse(line) as { msg: string }).msg}`);
  return createLogger({ level: 'warn', process: name, destination: { write } });
}

/** Use this logger only for lines whose fixed fields hold no secrets. The search for secrets would cost more than writing the line. */
export function withoutRedaction(logger: Logger): Logger {
  return logger.child({}, { formatters: { log: (fields) => fields } });
}

function currentTrace(): object {
  const id = currentTraceId();
  return id ? { trace_id: id } : {};
}

/** Writes Nest's messages with our logger. Plain messages, such as those at the start, get level debug. */
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

import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { trace } from '@opentelemetry/api';
import { withoutSecrets } from './redact.js';

export type Logger = PinoLogger;

export interface LoggerOptions {
  readonly level: string;
  readonly process: string;
  /** Ties every line to the trace it is written in. */
  readonly traced?: boolean;
  readonly destination?: DestinationStream;
}

export function createLogger({ level, process: name, traced, destination }: LoggerOptions): Logger {
  const options = {
    level,
    base: { process: name },
    // Errors have been reduced to facts by then; pino's own serializer would add all their fields again.
    serializers: { err: (facts: unknown) => facts },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: object) => withoutSecrets(fields) as Record<string, unknown>,
    },
    ...(traced && { mixin: currentTrace }),
  };
  // Written asynchronously: a line per request, written at once, would cost a tenth of the request. Nothing is held back,
  // and `flush` empties it before the process ends.
  return pino(options, destination ?? pino.destination({ sync: false }));
}

/** For lines that hold nothing but what we put there ourselves: looking for secrets in them costs more than writing them. */
export function withoutRedaction(logger: Logger): Logger {
  return logger.child({}, { formatters: { log: (fields) => fields } });
}

function currentTrace(): object {
  const span = trace.getActiveSpan()?.spanContext();
  return span ? { trace_id: span.traceId } : {};
}

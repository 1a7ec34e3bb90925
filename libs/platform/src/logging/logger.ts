import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { trace } from '@opentelemetry/api';

export type Logger = PinoLogger;

// Wherever one of these names turns up in a logged object, its value is hidden: at the top, in a request's headers, one
// level down in any object.
const SECRETS = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'access_token',
  'refresh_token',
  'accessToken',
  'refreshToken',
  'client_secret',
  'clientSecret',
  'x-api-key',
  'x-client-secret',
];
const REDACTED_PATHS = SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]);

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
    redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    ...(traced && { mixin: currentTrace }),
  };
  // Written asynchronously: a line per request, written at once, would cost a tenth of the request. Nothing is held back,
  // and `flush` empties it before the process ends.
  return pino(options, destination ?? pino.destination({ sync: false }));
}

/** For lines that hold nothing but what we put there ourselves: looking for secrets in them costs more than writing them. */
export function withoutRedaction(logger: Logger): Logger {
  return logger.child({}, { redact: [] });
}

function currentTrace(): object {
  const span = trace.getActiveSpan()?.spanContext();
  return span ? { trace_id: span.traceId } : {};
}

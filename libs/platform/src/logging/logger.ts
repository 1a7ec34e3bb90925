import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { trace } from '@opentelemetry/api';
import { requestContext } from './request-context.js';

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
  readonly destination?: DestinationStream;
}

export function createLogger({ level, process: name, destination }: LoggerOptions): Logger {
  const options = {
    level,
    base: { process: name },
    redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    mixin: correlation,
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Ties a line to its request and its trace. */
function correlation(): object {
  const requestId = requestContext.getStore()?.requestId;
  const traceId = trace.getActiveSpan()?.spanContext().traceId;
  if (!requestId && !traceId) return {};
  return { ...(requestId && { request_id: requestId }), ...(traceId && { trace_id: traceId }) };
}

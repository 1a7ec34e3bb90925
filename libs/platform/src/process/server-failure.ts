import { DependencyUnavailable } from '../errors/app-error.js';

/** The server cannot be used, or did not answer in time. The process stops waiting for it. The message is for the operator. */
export class ServerUnfit extends Error {
  readonly code = 'SERVER_UNFIT';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ServerUnfit';
  }
}

/** The server answers, but it cannot be used yet. The process goes on waiting. The message is for the operator. */
export class ServerNotReady extends Error {
  readonly code = 'SERVER_NOT_READY';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ServerNotReady';
  }
}

// Waiting does not help against a wrong login, a missing database or an unknown certificate.
const FINAL_CODES =
  /^(28...|3D000|42501|ERR_TLS_|ERR_SSL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|CERT_|HOSTNAME_MISMATCH)/;
const FINAL_TEXTS =
  /authorization violation|SASL|WRONGPASS|NOAUTH|NOPERM|does not support (SSL|'tls')|certificate|client sent an AUTH/i;

/** True if waiting cannot help. */
export function isFinal(error: unknown): boolean {
  if (error instanceof ServerUnfit) return true;
  const { code, message = '' } = innermost(error) as { code?: unknown; message?: string };
  return (typeof code === 'string' && FINAL_CODES.test(code)) || FINAL_TEXTS.test(message);
}

/** Returns the message of the original cause. */
export function reasonOf(error: unknown): string {
  const { message, code } = innermost(error) as { message?: string; code?: string };
  return message || code || String(error);
}

function innermost(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0]);
  if (error instanceof DependencyUnavailable && error.cause !== undefined) return innermost(error.cause);
  return error;
}

export type Version = readonly [number, number, number];

/** Throws ServerUnfit if the version is older than `least`. */
export function requireVersion(server: string, version: string, least: Version): void {
  if (isBefore(version, least))
    throw new ServerUnfit(`${server} ${version} is too old: ${least.join('.')} or newer is needed`);
}

/** Reads `15.18 (Debian 15.18-0+deb12u1)` as 15.18.0. */
export function isBefore(version: string, least: Version): boolean {
  const have = (version.split(/[\s-]/)[0] ?? '').split('.').map(Number);
  for (const [place, needed] of least.entries()) {
    const difference = (have[place] || 0) - needed;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

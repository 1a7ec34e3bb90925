import { types } from 'node:util';

const HIDDEN = '[redacted]';
// Whatever the case and wherever in a logged object: `authorization`, `Set-Cookie`, `x-api-key`, `refreshToken` …
const SECRET_NAME = /^(authorization|cookie|set-cookie|password|.*secret|.*token|.*api[-_]?key)$/i;
const PASSWORD_IN_URL = /(\w+:\/\/)[^/\s@]+@/g;
// Deeper than anybody logs on purpose; a cycle ends here too.
const DEEPEST = 8;

/**
 * A copy of what is logged without its secrets. Of an error only what explains it is kept: client libraries hang the failed
 * command on theirs, password included.
 */
export function withoutSecrets(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(PASSWORD_IN_URL, `$1${HIDDEN}@`);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEEPEST) return '[too deep]';
  if (types.isNativeError(value)) return errorFacts(value, depth);
  if (value instanceof Date || Buffer.isBuffer(value)) return Buffer.isBuffer(value) ? '[bytes]' : value;
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, depth + 1));
  const entries = Object.entries(value).map(([name, child]) => [
    name,
    SECRET_NAME.test(name) ? HIDDEN : withoutSecrets(child, depth + 1),
  ]);
  return Object.fromEntries(entries);
}

function errorFacts(error: Error, depth: number): object {
  const { code, details } = error as { code?: unknown; details?: unknown };
  const facts = {
    type: error.name,
    message: error.message,
    code,
    details,
    stack: error.stack,
    cause: error.cause,
  };
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, fact]) =>
      fact === undefined ? [] : [[name, withoutSecrets(fact, depth + 1)]],
    ),
  );
}

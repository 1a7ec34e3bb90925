import { types } from 'node:util';

const HIDDEN = '[redacted]';
// Names of fields with secrets, at any depth and in any case: `authorization`, `Set-Cookie`, `x-api-key`, `refreshToken` …
const SECRET_NAME = /^(authorization|cookie|set-cookie|password|.*secret|.*token|.*api[-_]?key)$/i;
const PASSWORD_IN_URL = /(\w+:\/\/)[^/\s@]+@/g;
const SERVICE_KEY = /\bpk_[\w-]{16,}/g;
// Deeper than any of our log lines. This limit also ends a cycle.
const DEEPEST = 8;

/**
 * Returns a copy of a logged value without its secrets. A secret is a field with a name such as `token`, a password in a URL, or a service
 * key; other secrets are not recognised. An error keeps only type, message, code, details, stack and cause, because client libraries add the failed
 * command, with its password, to their errors.
 */
export function withoutSecrets(value: unknown, depth = 0): unknown {
  if (typeof value === 'string')
    return value.replace(PASSWORD_IN_URL, `$1${HIDDEN}@`).replace(SERVICE_KEY, HIDDEN);
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

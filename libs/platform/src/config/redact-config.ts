import { type Config } from './config.js';

const SECRET_NAME = /secret|key|token|password/i;
const HIDDEN = '[redacted]';

/** A copy that may be printed: secrets hidden, and of a URL only where it leads. */
export function redactConfig(config: Config): unknown {
  return redact('', config);
}

function redact(name: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return HIDDEN;
  if (Array.isArray(value)) return value.map((item) => redact(name, item));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, redact(key, child)]));
  if (typeof value !== 'string') return value;
  // The Redis prefix has "key" in its name and is no secret. Names go first: many a secret parses as a URL.
  if (SECRET_NAME.test(name) && name !== 'keyPrefix') return HIDDEN;
  return URL.canParse(value) ? destination(new URL(value)) : value;
}

/** Passwords stand in the user part as well as in the query. */
function destination({ protocol, host, pathname, username, search }: URL): string {
  return `${protocol}//${username ? `${HIDDEN}@` : ''}${host}${pathname}${search ? `?${HIDDEN}` : ''}`;
}

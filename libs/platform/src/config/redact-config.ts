import { type Config } from './config.js';

const SECRET_NAME = /secret|key|token|password/i;
const HIDDEN = '[redacted]';

/** A copy that may be printed: secrets hidden, passwords taken out of URLs. */
export function redactConfig(config: Config): unknown {
  return redact('', config);
}

function redact(name: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return HIDDEN;
  if (Array.isArray(value)) return value.map((item) => redact(name, item));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, redact(key, child)]));
  if (typeof value !== 'string') return value;
  if (URL.canParse(value)) return withoutPassword(value);
  // The Redis prefix has "key" in its name and is no secret.
  return SECRET_NAME.test(name) && name !== 'keyPrefix' ? HIDDEN : value;
}

function withoutPassword(text: string): string {
  const url = new URL(text);
  if (!url.password && !url.username) return text;
  url.username = url.username && 'user';
  url.password = url.password && 'redacted';
  return url.toString();
}

import { InvalidInput } from '../errors/app-error.js';

// Whoever nests ten thousand levels deep is not told the way through all of them.
const LONGEST_PATH = 200;

/** Of a body that could not be parsed: where the key stands that would reach an object's prototype, if that is why. */
export function refusalOf(error: Error, body: string): Error {
  const path = forbiddenPath(parsed(body));
  return path ? new InvalidInput([`${shortened(path)}: Not allowed`]) : error;
}

function forbiddenPath(value: unknown): string | undefined {
  const waiting: Array<readonly [value: unknown, path: string]> = [[value, '']];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [within, path] = next;
    if (typeof within !== 'object' || within === null) continue;
    for (const [key, child] of Object.entries(within)) {
      const childPath = path ? `${path}.${key}` : key;
      if (key === '__proto__' || (key === 'constructor' && hasPrototype(child))) return childPath;
      waiting.push([child, childPath]);
    }
  }
  return undefined;
}

function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function shortened(path: string): string {
  return path.length <= LONGEST_PATH ? path : `${path.slice(0, LONGEST_PATH)}…`;
}

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { documentedCodes } from '../harness/error-codes.js';

// The simulator is left out, because it answers with the vendors' error codes.
const sources = ['libs', 'apps/api', 'apps/worker', 'apps/all']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  )
  .filter((file) => file.endsWith('.ts') && !/\.(spec|harness)\.ts$/.test(file));

/** Finds `code = 'X'` in error classes, and `code: 'X'` in answers that are written without an error class. */
function codesInSource(): string[] {
  const found = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bcode(?:: string)?(?: =|:) '([A-Z][^'a-z]*)'/g)].map(
      ([, code = '']) => code,
    ),
  );
  return [...new Set(found)].sort();
}

describe('error codes', () => {
  it('docs/errors.md lists each error code of the source exactly once, and no other code', () => {
    const { answered, logged } = documentedCodes();
    expect([...answered, ...logged].sort()).toEqual(codesInSource());
  });

  it('every error code is upper case with underscores', () => {
    for (const code of codesInSource()) expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
  });
});

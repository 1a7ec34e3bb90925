import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';

const SOURCES = 'apps/simulator/src';
const DOCUMENT = readFileSync('docs/vendor-facts-covered.md', 'utf8');

/** A test title belongs to the last spec file that the document names before the title, in the same line or in an earlier one. */
function testsNamed(): [file: string, name: string][] {
  const named: [string, string][] = [];
  let file = '';
  for (const line of DOCUMENT.split('\n')) {
    const [fact = '', tests = ''] = line.split(' → ');
    for (const quoted of [...(tests || fact).matchAll(/`([^`]+)`/g)].map((match) => match[1]!)) {
      if (quoted.endsWith('.spec.ts')) file = quoted;
      else if (tests) named.push([file, quoted]);
    }
  }
  return named;
}

it('docs/vendor-facts-covered.md names only tests that exist', () => {
  const named = testsNamed();
  expect(named.length).toBeGreaterThan(150);
  const missing = named.filter(([file, name]) => {
    const source = readFileSync(file.startsWith('libs/') ? file : path.join(SOURCES, file), 'utf8');
    return !["'", '"'].some((quote) => source.includes(quote + name + quote));
  });
  expect(missing).toEqual([]);
});

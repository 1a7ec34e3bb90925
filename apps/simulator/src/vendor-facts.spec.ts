import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';

const SOURCES = 'apps/simulator/src';
const DOCUMENT = readFileSync('docs/vendor-facts-covered.md', 'utf8');

/** In each line the last spec file named stands for the tests named after it. */
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

it('every test that the document of covered facts names exists', () => {
  const named = testsNamed();
  expect(named.length).toBeGreaterThan(150);
  const missing = named.filter(([file, name]) => {
    const source = readFileSync(path.join(SOURCES, file), 'utf8');
    return !["'", '"'].some((quote) => source.includes(quote + name + quote));
  });
  expect(missing).toEqual([]);
});

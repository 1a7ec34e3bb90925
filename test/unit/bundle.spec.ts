import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const FOLDER = 'dist/node_modules';

it('no bundled package has a character beyond Latin-1: V8 would keep its whole file in two bytes for each character', () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  expect(files.length).toBeGreaterThan(10);
  const isWide = (name: string) => /[^\0-\xff]/.test(readFileSync(join(FOLDER, name), 'utf8'));
  expect(files.filter(isWide)).toEqual([]);
});

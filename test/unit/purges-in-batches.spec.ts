import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const SOURCE = /\/src\/(?!.*(\.spec|\.harness)\.ts$).*\.(sql|ts)$/;
const PAST = /<=?\s*(now|clock_timestamp)\(\)/;

/** The SQL of a file: all of an .sql file, each literal of a TypeScript file that deletes. */
function deletionsIn(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const found = file.endsWith('.sql') ? [text] : text.match(/`[^`]*`|'[^'\n]*'|"[^"\n]*"/g);
  return (found ?? []).filter((sql) => /\bdelete from\b/i.test(sql));
}

// After a pause of the workers, or with a shorter retention, millions of rows may be past. One statement that deletes them all holds its
// locks for minutes, and is ended by the statement timeout before it has deleted any.
it('every purge of past rows has a limit', () => {
  const files = ['libs', 'apps'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  );
  const purges = files
    .filter((file) => SOURCE.test(file))
    .flatMap((file) => deletionsIn(file).map((sql) => ({ file, sql })))
    .filter(({ sql }) => PAST.test(sql));
  expect(purges.length).toBeGreaterThan(12);
  expect(purges.filter(({ sql }) => !/\blimit \$\d/.test(sql)).map(({ file }) => file)).toEqual([]);
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { type Guard, GUARDS, tableOf } from '../guards/guards.mjs';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const named = GUARDS.map((guard): [string, Guard] => [guard.name, guard]);

describe('the guards that npm run guards removes', () => {
  it.each(named)('the code of the guard %s is where the list says, once', (_name, { file, find }) => {
    expect(read(file).split(find)).toHaveLength(2);
  });

  it.each(named)('the test of the guard %s exists', (_name, { spec, title }) => {
    expect(title).not.toBe('');
    expect(read(spec)).toContain(title);
  });

  it('docs/guards.md lists every guard with its test', () => {
    expect(withoutPadding(read('docs/guards.md'))).toContain(withoutPadding(tableOf(GUARDS)));
  });
});

/** Prettier pads the cells of a table. */
function withoutPadding(text: string): string {
  return text.replace(/ +/g, ' ').replace(/-+/g, '-');
}

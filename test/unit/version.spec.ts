import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const textOf = (file: string) => readFileSync(file, 'utf8');
const { version } = JSON.parse(textOf('package.json')) as { version: string };

// The OpenAPI document and the manifests have tests of their own.
it.each([
  ['package-lock.json', `"name": "pacekeeper",\n  "version": "${version}"`],
  ['Dockerfile', `org.opencontainers.image.version="${version}"`],
  ['README.md', `**Status: ${version}.**`],
  ['docs/operations/image.md', `pacekeeper:${version} `],
])('%s names the version of package.json', (file, expected) => {
  expect(textOf(file)).toContain(expected);
});

it('the changelog’s first section is this version, and begins with what apps and operators must do', () => {
  const [, first = ''] = textOf('CHANGELOG.md').split(/^## /m);
  expect(first).toMatch(
    new RegExp(
      `^${version.replaceAll('.', '\\.')}( \\(\\d{4}-\\d\\d-\\d\\d\\))?\\n\\n\\*\\*Apps must [^]+?\\*\\*\\n\\n\\*\\*An operator must\\*\\*`,
    ),
  );
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { queryPool } from '../harness/query-pool.js';

const root = path.resolve(import.meta.dirname, '../..');

describe('bin/tool.mjs', () => {
  let environment: TestEnvironment;
  beforeAll(async () => {
    environment = await testEnvironment();
  });
  afterAll(() => environment?.release());

  function run(tool: string | undefined, changes: Record<string, string> = {}, args: readonly string[] = []) {
    const { DATABASE_URL = '', ENCRYPTION_KEYS = '' } = environment.env;
    const env = { PATH: process.env.PATH, DATABASE_URL, ENCRYPTION_KEYS, ...changes };
    return spawnSync(process.execPath, ['bin/tool.mjs', ...(tool ? [tool] : []), ...args], {
      cwd: root,
      env,
      encoding: 'utf8',
    });
  }

  it.each([
    ['migrate', 'nothing to apply, the schema is current\n'],
    ['rotate-keys', '0 rows encrypted anew with key 1\n'],
  ])('bin/tool.mjs runs %s on the database of the environment', (tool, output) => {
    expect(run(tool)).toMatchObject({ status: 0, stdout: output });
  });

  it('bin/tool.mjs exits with 1 and shows the error when a tool fails', () => {
    const { status, stderr } = run('migrate', {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:9/nothing',
      START_WAIT_SECONDS: '0',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('migrate: ');
  });

  it('bin/tool.mjs key prints a new service key on its last line, and stores its hash and its scopes', async () => {
    const made = run('key', {}, ['--name', 'backend', '--scopes', 'read,ingest']);
    expect(made).toMatchObject({ status: 0, stderr: '' });
    const key = made.stdout.trimEnd().split('\n').at(-1) ?? '';
    expect(key).toMatch(/^pk_[\w-]{43}$/);
    const pool = queryPool(environment.env.DATABASE_URL);
    const { rows } = await pool.query('select name, scopes, hash = sha256($1) as is_hash from service_key', [
      Buffer.from(key),
    ]);
    expect(rows).toEqual([{ name: 'backend', scopes: ['read', 'ingest'], is_hash: true }]);
    await pool.end();
  });

  it.each([
    ['the name is missing', ['--scopes', 'read'], '--name is missing'],
    [
      'the scopes are missing',
      ['--name', 'x'],
      '--scopes must be a comma list of read, write, ingest, events',
    ],
    ['a scope is unknown', ['--name', 'x', '--scopes', 'read,admin'], 'not "admin"'],
    ['an option is unknown', ['--names', 'x'], "Unknown option '--names'"],
  ])('bin/tool.mjs key exits with 1 and names the problem if %s', (_, args, problem) => {
    const { status, stdout, stderr } = run('key', {}, args);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(problem);
    expect(stderr).toContain('usage: key --name NAME');
  });

  it.each([
    ['the name is unknown', 'melt', 'There is no tool "melt".'],
    ['no name is given', undefined, 'Which tool?'],
  ])('bin/tool.mjs lists its tools if %s', (_, tool, problem) => {
    const { status, stderr } = run(tool);
    expect(status).toBe(1);
    expect(stderr).toMatch(`${problem} There are: migrate, rotate-keys, reread, key`);
  });

  it('package.json has a script for each tool of bin/tool.mjs', () => {
    const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const names = /There are: (.*)\./.exec(run('melt').stderr)?.[1]?.split(', ') ?? [];
    for (const name of names) expect(scripts[name]).toBe(`exec node bin/tool.mjs ${name}`);
  });
});

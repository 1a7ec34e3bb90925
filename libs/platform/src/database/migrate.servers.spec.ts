import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase } from '../../../../test/harness/test-database.js';
import { migrateDown, migrateUp } from './migrate.js';
import { migrationClasses } from './migrations.js';

const SCHEMA = `
  select table_name, column_name, data_type, is_nullable, column_default
  from information_schema.columns
  where table_schema = 'public' and table_name <> 'schema_migration'
  order by table_name, column_name`;

describe('migrations', () => {
  let url: string;
  let drop: () => Promise<void>;
  beforeEach(async () => ({ url, drop } = await createTestDatabase('template0')));
  afterEach(() => drop());

  async function query(statement: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query(statement);
    await client.end();
    return rows as unknown[];
  }

  it('migrations can all be applied, reverted one by one, and applied again with the same schema', async () => {
    const names = await migrateUp(url);
    expect(names.length).toBeGreaterThan(0);
    expect(await query('select name from schema_migration where applied_at is null')).toEqual([]);
    const schema = await query(SCHEMA);
    for (let left = names.length; left > 0; left -= 1)
      expect(await migrateDown(url)).toEqual([names[left - 1]]);
    expect(await query(SCHEMA)).toEqual([]);
    expect(await migrateDown(url)).toEqual([]);
    expect(await migrateUp(url)).toEqual(names);
    expect(await query(SCHEMA)).toEqual(schema);
    expect(await migrateUp(url)).toEqual([]);
  });

  it('migrations are applied once when four processes start them at the same time', async () => {
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrateUp(url)));
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
  });

  it('a failed migration is rolled back, and its error says why the statement failed', async () => {
    const folder = folderWith({
      '0001_good.up.sql': 'create table good (id int)',
      '0001_good.down.sql': 'drop table good',
      '0002_bad.up.sql': 'create table half (id int); create table half (id int)',
      '0002_bad.down.sql': 'select 1',
    });
    await expect(migrateUp(url, migrationClasses(folder))).rejects.toThrow('relation "half" already exists');
    expect(
      await query("select to_regclass('good') is not null as good, to_regclass('half') is not null as half"),
    ).toEqual([{ good: true, half: false }]);
    rmSync(folder, { recursive: true });
  });

  it('a migration with a concurrent index runs outside a transaction while other migrators wait', async () => {
    const folder = folderWith({
      '0001_table.up.sql': 'create table t (id int)',
      '0001_table.down.sql': 'drop table t',
      '0002_index.up.sql': '-- outside a transaction\ncreate index concurrently t_id on t (id)',
      '0002_index.down.sql': '-- outside a transaction\ndrop index concurrently t_id',
    });
    const together = await Promise.all([1, 2, 3].map(() => migrateUp(url, migrationClasses(folder))));
    expect(together.flat()).toHaveLength(2);
    expect(await query("select indisvalid from pg_index where indexrelid = 't_id'::regclass")).toEqual([
      { indisvalid: true },
    ]);
    expect(await query("select to_regclass('t_id') is not null as made")).toEqual([{ made: true }]);
    rmSync(folder, { recursive: true });
  });

  it('a migration file with an unexpected name is refused', () => {
    const folder = folderWith({ 'athlete.sql': 'select 1' });
    expect(() => migrationClasses(folder)).toThrow('athlete.sql is not named like');
    rmSync(folder, { recursive: true });
  });
});

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type MigrationInterface, type QueryRunner } from 'typeorm';

// `0001_athlete.up.sql` and `0001_athlete.down.sql` are one migration. If the up file begins with `-- outside a transaction`, both files
// run outside a transaction. `create index concurrently` cannot run inside a transaction.
const OUTSIDE_TRANSACTION = /^-- outside a transaction\b/;
const FILE = /^(\d{4})_([a-z0-9_]+)\.up\.sql$/;

type MigrationClass = new () => MigrationInterface;

/** Makes a TypeORM migration class of each pair of SQL files, in the order of their numbers. */
export function migrationClasses(folder = migrationsFolder()): MigrationClass[] {
  const names = readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort();
  return names.filter((file) => !file.endsWith('.down.sql')).map((file) => migrationClass(folder, file));
}

export function migrationNames(): string[] {
  return migrationClasses().map((Migration) => new Migration().name ?? '');
}

function migrationClass(folder: string, file: string): MigrationClass {
  const [, number, title] = FILE.exec(file) ?? [];
  if (!number || !title) throw new Error(`${file} is not named like 0001_what_it_does.up.sql`);
  const up = readFileSync(join(folder, file), 'utf8');
  const down = readFileSync(join(folder, file.replace('.up.sql', '.down.sql')), 'utf8');
  // TypeORM orders by the last thirteen digits of the name.
  const name = `${title}_${number.padStart(13, '0')}`;
  return class implements MigrationInterface {
    readonly name = name;
    readonly transaction = !OUTSIDE_TRANSACTION.test(up);
    async up(runner: QueryRunner): Promise<void> {
      await runner.query(up);
    }
    async down(runner: QueryRunner): Promise<void> {
      await runner.query(down);
    }
  };
}

/** Finds `migrations/` in the nearest folder above; sources and compiled code have different depths. */
function migrationsFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'migrations'))) {
    if (dirname(folder) === folder) throw new Error('No folder above the program contains migrations/');
    folder = dirname(folder);
  }
  return join(folder, 'migrations');
}

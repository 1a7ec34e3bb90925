import 'reflect-metadata';
import { migrateDown, migrateUp } from './migrate.js';

const USAGE = 'usage: migrate up | down   (DATABASE_URL names the database)';

async function main(direction: string | undefined, url: string | undefined): Promise<string> {
  if (!url) throw new Error('DATABASE_URL: is required');
  if (direction === 'up')
    return report('applied', await migrateUp(url), 'nothing to apply, the schema is current');
  if (direction === 'down') return report('reverted', await migrateDown(url), 'nothing to revert');
  throw new Error(USAGE);
}

function report(verb: string, names: readonly string[], none: string): string {
  return names.length === 0 ? none : names.map((name) => `${verb} ${name}`).join('\n');
}

try {
  console.log(await main(process.argv[2], process.env.DATABASE_URL));
} catch (error) {
  console.error(`migrate: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

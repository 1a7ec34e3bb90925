import { Failure } from './failure.mjs';
import { inRoot, root } from './paths.mjs';

/** Applies what the database does not have yet; answers what was done, as printed by the migrator. */
export async function migrate(children, databaseUrl) {
  const args = [inRoot('dist/libs/platform/src/database/migrate.main.js'), 'up'];
  const env = { ...process.env, DATABASE_URL: databaseUrl };
  const { code, output } = await children.run('migrate', process.execPath, args, { cwd: root, env });
  if (code !== 0) throw new Failure(`The migration failed:\n${output.trimEnd()}`);
  return output.trimEnd();
}

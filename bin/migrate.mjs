// npm run migrate: brings the database of the environment, or of the running `npm start`, up to date.
import './launcher/node-version.mjs';
import path from 'node:path';
import { ensureBuilt } from './launcher/build.mjs';
import { given } from './launcher/environment.mjs';
import { Failure } from './launcher/failure.mjs';
import { readJson } from './launcher/files.mjs';
import { migrate } from './launcher/migrations.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { localFolder } from './launcher/paths.mjs';
import { runnerOf } from './launcher/run-folder.mjs';
import { run } from './launcher/run.mjs';

await run(async ({ children }) => {
  const databaseUrl = given.DATABASE_URL ?? databaseOfRunning();
  if (!databaseUrl) throw new Failure('Which database? Set DATABASE_URL, or have `npm start` running.');
  await ensurePackages(children);
  await ensureBuilt(children);
  console.log((await migrate(children, databaseUrl)) || 'Nothing to migrate.');
});

function databaseOfRunning() {
  if (!runnerOf(localFolder)) return null;
  return readJson(path.join(localFolder, 'run.json'))?.database_url;
}

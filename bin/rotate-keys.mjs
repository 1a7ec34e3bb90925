// npm run rotate-keys: encrypts all stored secrets anew with the newest of ENCRYPTION_KEYS.
import './launcher/node-version.mjs';
import path from 'node:path';
import { ensureBuilt } from './launcher/build.mjs';
import { given } from './launcher/environment.mjs';
import { Failure } from './launcher/failure.mjs';
import { readJson } from './launcher/files.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { inRoot, localFolder, root } from './launcher/paths.mjs';
import { run } from './launcher/run.mjs';
import { runnerOf } from './launcher/run-folder.mjs';
import { readSecrets } from './launcher/secrets.mjs';

await run(async ({ children }) => {
  const DATABASE_URL = given.DATABASE_URL ?? databaseOfRunning();
  const ENCRYPTION_KEYS = given.ENCRYPTION_KEYS ?? readSecrets(localFolder)?.ENCRYPTION_KEYS;
  if (!DATABASE_URL) throw new Failure('Which database? Set DATABASE_URL, or have `npm start` running.');
  if (!ENCRYPTION_KEYS) throw new Failure('Which keys? Set ENCRYPTION_KEYS: the new one and the old ones.');
  await ensurePackages(children);
  await ensureBuilt(children);
  const main = inRoot('dist/libs/connections/src/crypto/rotate-keys.main.js');
  const env = { ...process.env, DATABASE_URL, ENCRYPTION_KEYS };
  const { code } = await children.run('rotate-keys', process.execPath, [main], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  return code;
});

function databaseOfRunning() {
  if (!runnerOf(localFolder)) return null;
  return readJson(path.join(localFolder, 'run.json'))?.database_url;
}

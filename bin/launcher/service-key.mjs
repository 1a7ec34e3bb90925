// The service key of `npm start`. It stays the same between runs, so that a backend under development keeps it.
import { inRoot, root } from './files.mjs';
import { replaceSecret } from './secrets.mjs';
import { Failure } from './terminal.mjs';

const MAIN = inRoot('dist/libs/connections/src/keys/create-key.main.js');
const REVOKED = 2;

/** Stores the folder's key in the database, unless it is there. If an operator has revoked it, a new key takes its place. */
export async function storeServiceKey({ children, folder, databaseUrl, key }) {
  const { code, output } = await store(children, databaseUrl, key);
  if (code === 0) return key;
  if (code !== REVOKED) throw new Failure(`The service key could not be stored:\n${output.trimEnd()}`);
  return storeServiceKey({ children, folder, databaseUrl, key: replaceSecret(folder, 'service_key') });
}

function store(children, databaseUrl, key) {
  const args = [MAIN, '--name', 'npm start', '--scopes', 'read,write,ingest,events'];
  const env = { ...process.env, DATABASE_URL: databaseUrl, SERVICE_KEY: key };
  return children.run('key', process.execPath, args, { cwd: root, env });
}

// npm run migrate, rotate-keys, reread, key: tools that are built with the product. They use the servers that the environment names. For a
// variable that is not set, they use the value of `npm start`. The tools also work in the container image.
import './launcher/node-version.mjs';
import path from 'node:path';
import { ensureBuilt } from './launcher/build.mjs';
import { inRoot, localFolder, readJson, root } from './launcher/files.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { runnerOf } from './launcher/run-folder.mjs';
import { run } from './launcher/run.mjs';
import { readSecrets } from './launcher/secrets.mjs';
import { environment, Failure } from './launcher/terminal.mjs';

/** To add a tool, add a line here and a script of the same name in package.json. `needs` names entries of `variables` below. */
const tools = {
  migrate: { main: 'libs/platform/src/database/migrate.main.js', args: ['up'], needs: ['DATABASE_URL'] },
  'rotate-keys': {
    main: 'libs/connections/src/crypto/rotate-keys.main.js',
    needs: ['DATABASE_URL', 'ENCRYPTION_KEYS'],
  },
  reread: { main: 'libs/sleep/src/reread/reread.main.js', needs: ['DATABASE_URL', 'NATS_URL'] },
  key: { main: 'libs/connections/src/keys/create-key.main.js', needs: ['DATABASE_URL'] },
};

/** For each variable: the value to use if the environment has none, and the message if there is no value at all. */
const variables = {
  DATABASE_URL: {
    localValue: () => valueInRunFile('database_url'),
    advice: 'DATABASE_URL is not set. Set it, or run `npm start` first: its database is then used.',
  },
  NATS_URL: {
    localValue: () => valueInRunFile('nats_url'),
    advice: 'NATS_URL is not set. Set it, or run `npm start` first: its server is then used.',
  },
  ENCRYPTION_KEYS: {
    localValue: () => readSecrets(localFolder)?.ENCRYPTION_KEYS,
    advice: 'ENCRYPTION_KEYS is not set. Set it to the new key and the old ones.',
  },
};

await run(async ({ args: [name, ...more], children }) => {
  const { main, args = [], needs } = tools[name] ?? unknown(name);
  const env = {
    ...process.env,
    ...Object.fromEntries(needs.map((variable) => [variable, valueOf(variable)])),
  };
  await ensurePackages(children);
  await ensureBuilt(children);
  const { code } = await children.run(name, process.execPath, [inRoot('dist', main), ...args, ...more], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  return code;
});

function unknown(name) {
  const problem = name ? `There is no tool "${name}".` : 'Which tool?';
  throw new Failure(`${problem} There are: ${Object.keys(tools).join(', ')}.`);
}

function valueInRunFile(name) {
  return runnerOf(localFolder) && readJson(path.join(localFolder, 'run.json'))?.[name];
}

function valueOf(variable) {
  const { localValue, advice } = variables[variable];
  const value = environment[variable] ?? localValue();
  if (!value) throw new Failure(advice);
  return value;
}

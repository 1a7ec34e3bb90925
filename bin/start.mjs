// npm start: runs the whole product with its servers until Ctrl-C.
import './launcher/node-version.mjs';
import path from 'node:path';
import {
  appEnvironment,
  checkPorts,
  choosePorts,
  hasSimulator,
  isOk,
  migrate,
  needsSimulator,
  restartOnExit,
  startApp,
  waitUntilHealthy,
} from './launcher/apps.mjs';
import { ensureBuilt } from './launcher/build.mjs';
import { consoleLink } from './launcher/console-link.mjs';
import { createAthletes, startDemo } from './launcher/demo.mjs';
import { localFolder, writeAtomically } from './launcher/files.mjs';
import { firstRequests } from './launcher/first-requests.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { claim } from './launcher/run-folder.mjs';
import { run } from './launcher/run.mjs';
import { ensureSecrets, makeToken } from './launcher/secrets.mjs';
import { startServers } from './launcher/servers.mjs';
import { storeServiceKey } from './launcher/service-key.mjs';
import { environment, Failure, readArguments, say, step } from './launcher/terminal.mjs';

await run(async ({ args, children, treatInterruptAsSuccess, untilInterrupted }) => {
  const { values } = readArguments(
    args,
    { local: { type: 'string', default: localFolder } },
    'npm start [-- --local DIR]',
  );
  checkPorts();
  const folder = path.resolve(values.local);
  const holder = await claim(folder, children);
  if (holder)
    throw new Failure(
      `Pacekeeper is already running here, as process ${holder.pid}: stop that one first (Ctrl-C).`,
    );

  const secrets = ensureSecrets(folder);
  await ensurePackages(children);
  const passwords = { redis: secrets.redis_password, nats: secrets.nats_password };
  const serverUrls = await startServers({ children, folder, passwords, environment });
  await ensureBuilt(children);
  const migrated = await step('migrating', () => migrate(children, serverUrls.DATABASE_URL));
  if (migrated) say(migrated);

  const ports = await choosePorts();
  const urls = urlsFor(ports);
  const env = appEnvironment({ serverUrls, secrets, ports, urls, folder });
  await step('starting Pacekeeper', () => startApps({ children, folder, env }, urls));

  const serviceKey = await storeServiceKey({
    children,
    folder,
    databaseUrl: serverUrls.DATABASE_URL,
    key: secrets.service_key,
  });
  const description = await describe({ urls, serverUrls, secrets, env, serviceKey });
  const demo = await createDemoData(description, { timeScale: Number(env.TIME_SCALE), children });
  const runFile = path.join(folder, 'run.json');
  children.discardAtEnd(runFile);
  writeAtomically(runFile, `${JSON.stringify(description, null, 2)}\n`, { mode: 0o600 });
  announce(description, folder, await consoleLink(description));
  treatInterruptAsSuccess(`stopped; the data stays in ${shown(folder)}/`);
  await demo?.untilComplete();
  await untilInterrupted;
});

/** Creates two athletes and begins the demo with the first. Does nothing without tokens. */
async function createDemoData(description, context) {
  if (!description.tokens.athlete) return undefined;
  await createAthletes(description);
  if (!description.simulator || environment.NO_DEMO) return undefined;
  return startDemo(description, context);
}

function urlsFor(ports) {
  const url = (port, host = '127.0.0.1') => `http://${host}:${port}`;
  const host = oneAddress(environment.HOST);
  return {
    api: url(ports.api, host),
    worker: url(ports.worker, host),
    simulator: hasSimulator() && needsSimulator() ? url(ports.simulator) : null,
  };
}

// An app listens only on the address HOST, so its URL must contain this address. Undefined means that the app listens on all addresses.
function oneAddress(host) {
  if (!host || host === '0.0.0.0' || host === '::') return undefined;
  return host.includes(':') ? `[${host}]` : host;
}

async function startApps(context, urls) {
  if (urls.simulator) {
    const simulator = startApp(context, 'simulator');
    const stats = `${urls.simulator}/__sim/stats`;
    await waitUntilHealthy(simulator, stats);
    restartOnExit(context, simulator, [stats]);
  }
  const pacekeeper = startApp(context, 'pacekeeper');
  const ready = [`${urls.api}/health/ready`, `${urls.worker}/health/ready`];
  for (const url of ready) await waitUntilHealthy(pacekeeper, url);
  restartOnExit(context, pacekeeper, ready);
}

/** The content of run.json. */
async function describe({ urls, serverUrls, secrets, env, serviceKey }) {
  const console = `${urls.api}/console`;
  return {
    ...urls,
    ...((await isOk(console)) ? { console } : {}),
    database_url: serverUrls.DATABASE_URL,
    redis_url: serverUrls.REDIS_URL,
    nats_url: serverUrls.NATS_URL,
    athlete_id: secrets.athlete_id,
    other_athlete_id: secrets.other_athlete_id,
    tokens: tokensFor(secrets, env),
    ingest_key: env.INGEST_API_KEYS.split(',')[0],
    service_key: serviceKey,
    pid: process.pid,
  };
}

function tokensFor({ athlete_id, other_athlete_id, admin_id }, env) {
  if (!env.JWT_SECRET) return { athlete: null, other: null, admin: null }; // only the issuer behind JWKS_URL can sign tokens
  const signed = { secret: env.JWT_SECRET, issuer: env.JWT_ISSUER, audience: env.JWT_AUDIENCE };
  return {
    athlete: makeToken({ subject: athlete_id, ...signed }),
    other: makeToken({ subject: other_athlete_id, ...signed }),
    admin: makeToken({ subject: admin_id, isAdmin: true, ...signed }),
  };
}

function announce(description, folder, link) {
  const at = shown(folder);
  const consoleLine = link ? `\n  console    ${link}` : '';
  console.log(`
  api        ${description.api}   (${description.api}/docs)
  worker     ${description.worker}
  simulator  ${description.simulator ?? 'not running: the environment names the vendors'}${consoleLine}

  athlete    ${description.athlete_id}
  other      ${description.other_athlete_id}
  tokens     ${at}/run.json
  logs       ${at}/logs/
${firstRequests(description, path.join(folder, 'run.json'))}
  Ctrl-C stops everything; the data stays in ${at}/.

ready ${description.api}`);
}

function shown(folder) {
  const relative = path.relative(process.cwd(), folder);
  return relative.startsWith('..') ? folder : relative;
}

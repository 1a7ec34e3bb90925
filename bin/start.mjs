// npm start: everything, until Ctrl-C.
import './launcher/node-version.mjs';
import path from 'node:path';
import { appEnvironment, needsSimulator } from './launcher/app-environment.mjs';
import { choosePorts, hasSimulator, startApp, waitUntilHealthy } from './launcher/apps.mjs';
import { readArguments } from './launcher/arguments.mjs';
import { ensureBuilt } from './launcher/build.mjs';
import { given } from './launcher/environment.mjs';
import { importDemoAthlete, introduce } from './launcher/demo.mjs';
import { Failure } from './launcher/failure.mjs';
import { writeAtomically } from './launcher/files.mjs';
import { migrate } from './launcher/migrations.mjs';
import { ensurePackages } from './launcher/packages.mjs';
import { localFolder } from './launcher/paths.mjs';
import { say, step } from './launcher/progress.mjs';
import { claim } from './launcher/run-folder.mjs';
import { run } from './launcher/run.mjs';
import { ensureSecrets } from './launcher/secrets.mjs';
import { startServers } from './launcher/servers.mjs';
import { makeToken } from './launcher/tokens.mjs';

await run(async ({ args, children, interruptionIsSuccess, untilInterrupted }) => {
  const { values } = readArguments(
    args,
    { local: { type: 'string', default: localFolder } },
    'npm start [-- --local DIR]',
  );
  const folder = path.resolve(values.local);
  const holder = await claim(folder, children);
  if (holder)
    throw new Failure(
      `Pacekeeper is already running here, as process ${holder.pid}: stop that one first (Ctrl-C).`,
    );

  await ensurePackages(children);
  const serverUrls = await startServers({ children, folder, given });
  await ensureBuilt(children);
  const secrets = ensureSecrets(folder);
  const migrated = await step('migrating', () => migrate(children, serverUrls.DATABASE_URL));
  if (migrated) say(migrated);

  const ports = await choosePorts();
  const urls = urlsFor(ports);
  const env = appEnvironment({ serverUrls, secrets, ports, urls, folder });
  await step('starting Pacekeeper', () => startApps({ children, folder, env }, urls));

  const description = describe({ urls, serverUrls, secrets, env });
  await populate(description);
  const runFile = path.join(folder, 'run.json');
  children.discardAtEnd(runFile);
  writeAtomically(runFile, `${JSON.stringify(description, null, 2)}\n`, { mode: 0o600 });
  announce(description, folder);
  interruptionIsSuccess();
  await untilInterrupted;
});

/** The two athletes, and for the first a history, unless the vendors are real or nobody can sign for them. */
async function populate(description) {
  if (!description.tokens.athlete) return;
  await introduce(description);
  if (description.simulator && !given.NO_DEMO && !given.STRAVA_API_URL) await importDemoAthlete(description);
}

function urlsFor(ports) {
  const url = (port) => `http://127.0.0.1:${port}`;
  return {
    api: url(ports.api),
    worker: url(ports.worker),
    simulator: hasSimulator() && needsSimulator() ? url(ports.simulator) : null,
  };
}

async function startApps(context, urls) {
  if (urls.simulator) {
    const simulator = startApp(context, 'simulator');
    await waitUntilHealthy(simulator, `${urls.simulator}/__sim/stats`);
  }
  const pacekeeper = startApp(context, 'pacekeeper');
  await waitUntilHealthy(pacekeeper, `${urls.api}/health/ready`);
  await waitUntilHealthy(pacekeeper, `${urls.worker}/health/ready`);
}

function describe({ urls, serverUrls, secrets, env }) {
  return {
    ...urls,
    console: `${urls.api}/console`,
    database_url: serverUrls.DATABASE_URL,
    redis_url: serverUrls.REDIS_URL,
    nats_url: serverUrls.NATS_URL,
    athlete_id: secrets.athlete_id,
    other_athlete_id: secrets.other_athlete_id,
    tokens: tokensFor(secrets, env),
    ingest_key: env.INGEST_API_KEYS.split(',')[0],
    pid: process.pid,
  };
}

function tokensFor({ athlete_id, other_athlete_id, admin_id }, env) {
  if (!env.JWT_SECRET) return { athlete: null, other: null, admin: null }; // JWKS_URL: only its owner can sign
  const signed = { secret: env.JWT_SECRET, issuer: env.JWT_ISSUER, audience: env.JWT_AUDIENCE };
  return {
    athlete: makeToken({ subject: athlete_id, ...signed }),
    other: makeToken({ subject: other_athlete_id, ...signed }),
    admin: makeToken({ subject: admin_id, isAdmin: true, ...signed }),
  };
}

function announce(description, folder) {
  const relative = path.relative(process.cwd(), folder);
  const shown = relative.startsWith('..') ? folder : relative;
  console.log(`
  api        ${description.api}   (${description.api}/docs)
  worker     ${description.worker}
  simulator  ${description.simulator ?? 'not running: the vendors are given by the environment'}

  athlete    ${description.athlete_id}
  other      ${description.other_athlete_id}
  tokens     ${shown}/run.json
  logs       ${shown}/logs/

  Ctrl-C stops everything; the data stays in ${shown}/.

ready ${description.api}`);
}

// The apps of `npm start`: their ports, their environment, their start and restart, and the migrations before them.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { inRoot, lastLines, root } from './files.mjs';
import { nextFreePort } from './ports.mjs';
import { until } from './processes.mjs';
import { JWT_AUDIENCE, JWT_ISSUER } from './secrets.mjs';
import { Failure, environment, say } from './terminal.mjs';
import { vendorPaths } from './vendors.mjs';

const HEALTHY_MS = 60_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const STABLE_MS = 60_000;

// The default HOST. Development secrets and tokens must not be reachable from the network.
const LOOPBACK = '127.0.0.1';

const mains = {
  simulator: inRoot('dist/apps/simulator/src/main.js'),
  pacekeeper: inRoot('dist/apps/all/src/main.js'), // api and worker in one process
};

const defaultPorts = {
  api: ['PORT', 3000],
  worker: ['WORKER_PORT', 3001],
  simulator: ['SIMULATOR_PORT', 4010],
};

export const hasSimulator = () => existsSync(mains.simulator);

/** True if the environment has no URL for at least one vendor, so that the simulator takes its place. */
export const needsSimulator = () => Object.keys(vendorPaths).some((name) => !environment[name]);

/** Throws if the value of a port variable is not a port. Call it before anything starts. */
export function checkPorts() {
  for (const [variable] of Object.values(defaultPorts)) portIn(variable);
}

/** The ports of the environment, or else the default ports. If a port is taken, the next free port takes its place. */
export async function choosePorts() {
  const ports = {};
  for (const [name, [variable, usual]] of Object.entries(defaultPorts)) {
    const wanted = portIn(variable) ?? usual;
    ports[name] = await nextFreePort(wanted, Object.values(ports));
    if (ports[name] !== wanted) say(`port ${wanted} is taken: ${name} listens on ${ports[name]}`);
  }
  return ports;
}

function portIn(variable) {
  const text = environment[variable];
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new Failure(`${variable} must be a port from 1 to 65535, not "${text}".`);
}

/** Applies the missing migrations and returns what the migrator printed. */
export async function migrate(children, databaseUrl) {
  const args = [inRoot('dist/libs/platform/src/database/migrate.main.js'), 'up'];
  const env = { ...process.env, DATABASE_URL: databaseUrl };
  const { code, output } = await children.run('migrate', process.execPath, args, { cwd: root, env });
  if (code !== 0) throw new Failure(`The migration failed:\n${output.trimEnd()}`);
  return output.trimEnd();
}

/** The environment of every app. The user's variables win over defaults. The chosen server URLs and ports win over the user's variables. */
export function appEnvironment({ serverUrls, secrets, ports, urls, folder }) {
  const { JWT_SECRET, ...others } = secrets;
  const appSecrets = Object.fromEntries(
    Object.entries(others).filter(([name]) => name === name.toUpperCase()),
  );
  const vendorUrls = Object.entries(vendorPaths).map(([name, below]) => [name, `${urls.simulator}${below}`]);
  return {
    HOST: LOOPBACK,
    TIME_SCALE: '900',
    // Production refuses it.
    ...(environment.NODE_ENV === 'production' ? {} : { WEBHOOKS_ALLOW_PRIVATE: '1' }),
    JWT_ISSUER,
    JWT_AUDIENCE,
    PUBLIC_URL: urls.api,
    // Pacekeeper's stored tokens outlive a stop. If the simulator forgot these tokens, every athlete would seem to have left.
    SIMULATOR_STATE: path.join(folder, 'simulator.json'),
    ...(environment.JWKS_URL ? {} : { JWT_SECRET }), // the apps refuse JWKS_URL together with JWT_SECRET
    ...appSecrets,
    ...(urls.simulator ? Object.fromEntries(vendorUrls) : {}),
    ...environment,
    ...serverUrls,
    PORT: String(ports.api),
    WORKER_PORT: String(ports.worker),
    SIMULATOR_PORT: String(ports.simulator),
  };
}

/** Starts an app without waiting for it. */
export function startApp({ children, folder, env }, name, { isLogKept = false } = {}) {
  const log = path.join(folder, 'logs', `${name}.log`);
  // The same heap flag as in start:api of package.json.
  const flags = ['--enable-source-maps', '--max-semi-space-size=8'];
  return children.start(name, process.execPath, [...flags, mains[name]], {
    cwd: root,
    env,
    log,
    isLogKept,
  });
}

/**
 * Restarts the app whenever it ends, without a limit. If the app has run for a minute, the pauses begin with the first one again.
 *
 * | restart | 1 | 2 | 3 | 4  | 5  | each further |
 * | pause s | 1 | 2 | 4 | 8  | 16 | 30           |
 * | total s | 1 | 3 | 7 | 15 | 31 | 30 more      |
 */
export function restartOnExit(context, app, urls) {
  let pauseMs = FIRST_PAUSE_MS;
  let startedAt = performance.now();
  const onExit = ({ name, log }) => {
    if (performance.now() - startedAt >= STABLE_MS) pauseMs = FIRST_PAUSE_MS;
    say(`${name} ended unexpectedly and is started again in ${pauseMs / 1000} s; the reason is in ${log}`);
    setTimeout(() => {
      if (context.children.isEnding) return;
      startedAt = performance.now();
      const restarted = startApp(context, name, { isLogKept: true });
      restarted.onExit = onExit;
      void reportRestart(restarted, urls);
    }, pauseMs);
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
  };
  app.onExit = onExit;
}

async function reportRestart({ name, process }, urls) {
  const areHealthy = async () => (await Promise.all(urls.map(isOk))).every(Boolean);
  const hasEnded = () => process.exitCode !== null || process.signalCode !== null;
  const isOver = await until(async () => hasEnded() || (await areHealthy()), {
    withinMs: HEALTHY_MS,
    everyMs: 250,
  });
  if (isOver && !hasEnded()) say(`${name} was started again`);
}

/** Waits until the URL answers 200; throws after 60 s. The process is not watched here, because the exit of a process ends the run. */
export async function waitUntilHealthy(child, url) {
  if (await until(() => isOk(url), { withinMs: HEALTHY_MS, everyMs: 50 })) return;
  throw new Failure(
    `${child.name} is not healthy after ${HEALTHY_MS / 1000} s: ${url} does not answer 200. ` +
      `The last lines of ${child.log}:\n${lastLines(child.log)}`,
  );
}

/** True if the URL answers with success within 5 s. */
export async function isOk(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

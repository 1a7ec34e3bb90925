import { existsSync } from 'node:fs';
import path from 'node:path';
import { given } from './environment.mjs';
import { Failure } from './failure.mjs';
import { lastLines } from './files.mjs';
import { inRoot, root } from './paths.mjs';
import { nextFreePort } from './ports.mjs';
import { say } from './progress.mjs';
import { until } from './waiting.mjs';

const HEALTHY_MS = 60_000;
const mains = {
  simulator: inRoot('dist/apps/simulator/src/main.js'),
  pacekeeper: inRoot('dist/apps/all/src/main.js'), // api and worker in one process
};
const usualPorts = {
  api: ['PORT', 3000],
  worker: ['WORKER_PORT', 3001],
  simulator: ['SIMULATOR_PORT', 4010],
};

export const hasSimulator = () => existsSync(mains.simulator);

/** The usual ports, or the next free ones. */
export async function choosePorts() {
  const ports = {};
  for (const [name, [variable, usual]] of Object.entries(usualPorts)) {
    const wanted = portIn(variable) ?? usual;
    ports[name] = await nextFreePort(wanted, Object.values(ports));
    if (ports[name] !== wanted) say(`port ${wanted} is taken: ${name} listens on ${ports[name]}`);
  }
  return ports;
}

function portIn(variable) {
  const text = given[variable];
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new Failure(`${variable} must be a port from 1 to 65535, not "${text}".`);
}

export function startApp({ children, folder, env }, name) {
  const log = path.join(folder, 'logs', `${name}.log`);
  // The heap flag as in package.json's start:api.
  const flags = ['--enable-source-maps', '--max-semi-space-size=8'];
  return children.start(name, process.execPath, [...flags, mains[name]], {
    cwd: root,
    env,
    log,
  });
}

/** Waits until the address answers 200. (A process that dies meanwhile ends the run by itself.) */
export async function waitUntilHealthy(child, url) {
  if (await until(() => isOk(url), { withinMs: HEALTHY_MS, everyMs: 50 })) return;
  throw new Failure(
    `${child.name} is not healthy after ${HEALTHY_MS / 1000} s: ${url} does not answer 200. ` +
      `The last lines of ${child.log}:\n${lastLines(child.log)}`,
  );
}

async function isOk(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

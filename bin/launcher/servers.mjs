import path from 'node:path';
import { canInstall, install } from './apt.mjs';
import { Failure } from './failure.mjs';
import { readJson, writeAtomically } from './files.mjs';
import { anyFreePort } from './ports.mjs';
import { find, programs } from './programs.mjs';
import { step } from './progress.mjs';
import { hasCompose, startWithCompose } from './servers/compose.mjs';
import { startNats } from './servers/nats.mjs';
import { startPostgres } from './servers/postgres.mjs';
import { startRedis } from './servers/redis.mjs';

const servers = {
  postgres: { variable: 'DATABASE_URL', start: startPostgres },
  redis: { variable: 'REDIS_URL', start: startRedis },
  nats: { variable: 'NATS_URL', start: startNats },
};

/**
 * Brings up what the given URLs do not name already, and answers all three URLs. Always the real servers: programs
 * found on this machine, else installed, else in containers.
 */
export async function startServers({ children, folder, given = {}, isDurable = true, isThrowAway = false }) {
  const needed = Object.keys(servers).filter((name) => !given[servers[name].variable]);
  if (needed.length === 0) return urlsOf((variable) => given[variable]);
  const { found, missing, complaint } = await programsFor(needed, children);
  if (missing.length > 0 && !hasCompose()) throw new Failure(threeWaysOut(missing, complaint));

  const ports = await portsFor(needed, folder);
  const startOne = async (name) => {
    const url = await servers[name].start({
      ...{ children, folder, isDurable, isThrowAway },
      program: found[name],
      port: ports[name],
    });
    return [name, url];
  };
  const started = await step(
    `starting ${needed.map((name) => programs[name].title).join(', ')}`,
    async () => {
      const inContainers =
        missing.length > 0 && startWithCompose({ children, folder, names: missing, ports });
      const own = await Promise.all(Object.keys(found).map(startOne));
      return { ...(await inContainers), ...Object.fromEntries(own) };
    },
  );
  return urlsOf((variable, name) => given[variable] || started[name]);
}

const urlsOf = (urlFor) =>
  Object.fromEntries(
    Object.entries(servers).map(([name, { variable }]) => [variable, urlFor(variable, name)]),
  );

/** Where each program is, after installing what is missing and can be installed. */
export async function programsFor(names, children) {
  let complaint = null;
  const absent = names.filter((name) => !find(name));
  if (absent.length > 0 && canInstall()) complaint = await install(absent, children);
  const found = Object.fromEntries(names.map((name) => [name, find(name)]).filter(([, program]) => program));
  return { found, missing: names.filter((name) => !found[name]), complaint };
}

// The same ports as last time when they are still free: URLs noted elsewhere stay good.
async function portsFor(names, folder) {
  const file = path.join(folder, 'ports.json');
  const ports = readJson(file) ?? {};
  for (const name of names) ports[name] = await anyFreePort(ports[name], Object.values(ports));
  writeAtomically(file, JSON.stringify(ports));
  return ports;
}

function threeWaysOut(missing, complaint) {
  const titles = missing.map((name) => `${programs[name].title} ${programs[name].minimum} or newer`);
  const variables = missing.map((name) => servers[name].variable);
  const packages = missing.map((name) => programs[name].debianPackage);
  return [
    `Pacekeeper needs ${titles.join(', ')}, not found on this machine. One of three ways out:`,
    `  1. name servers that you run: set ${variables.join(', ')}`,
    `  2. install them, on Debian or Ubuntu: apt-get install ${packages.join(' ')}`,
    '  3. install Docker with Compose and start its engine',
    ...(complaint ? [`Installing failed with:\n${complaint}`] : []),
  ].join('\n');
}

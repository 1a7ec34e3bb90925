// PostgreSQL, Redis and NATS for one run.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { EndOrder } from './children.mjs';
import { hasCompose, startWithCompose } from './compose.mjs';
import { readJson, writeAtomically } from './files.mjs';
import { anyFreePort, natsProbe, redisProbe, waitUntilReady } from './ports.mjs';
import { startPostgres } from './postgres.mjs';
import { isAtLeast, programs, programsFor } from './programs.mjs';
import { claimThrowAway } from './run-folder.mjs';
import { randomSecret } from './secrets.mjs';
import { Failure, step } from './terminal.mjs';

const NATS_USER = 'pacekeeper';
const NATS_WITH_SYNC_INTERVAL = '2.10'; // an older server refuses a configuration with `sync_interval`

const servers = {
  postgres: { variable: 'DATABASE_URL', start: startPostgres },
  redis: { variable: 'REDIS_URL', start: startRedis },
  nats: { variable: 'NATS_URL', start: startNats },
};

/**
 * Starts the servers that `environment` does not name, and returns the URLs of all three. For each server it uses the program on this
 * machine. If there is none, apt installs the program. If apt cannot, the server runs in a container.
 * `passwords` has the passwords of Redis and NATS. The password of Postgres is made with its database.
 */
export async function startServers({
  children,
  folder,
  passwords,
  environment = {},
  isDurable = true,
  isThrowAway = false,
}) {
  const needed = Object.keys(servers).filter((name) => !environment[servers[name].variable]);
  if (needed.length === 0) return urlsOf((variable) => environment[variable]);
  const { found, missing, complaint } = await programsFor(needed, children);
  if (missing.length > 0 && !hasCompose()) throw new Failure(missingProgramsMessage(missing, complaint));

  const ports = await portsFor(needed, folder);
  const startOne = async (name) => {
    const url = await servers[name].start({
      ...{ children, folder, isDurable, isThrowAway },
      program: found[name],
      port: ports[name],
      password: passwords[name],
    });
    return [name, url];
  };
  const started = await step(
    `starting ${needed.map((name) => programs[name].title).join(', ')}`,
    async () => {
      const inContainers =
        missing.length > 0 && startWithCompose({ children, folder, names: missing, ports, passwords });
      const own = await Promise.all(Object.keys(found).map(startOne));
      return { ...(await inContainers), ...Object.fromEntries(own) };
    },
  );
  return urlsOf((variable, name) => environment[variable] || started[name]);
}

/** Starts servers that are deleted when the run ends. Tests need speed, so only benchmarks use durable servers. */
export async function startThrowAwayServers(children, { isDurable = false } = {}) {
  const folder = await claimThrowAway(children);
  const passwords = { redis: randomSecret(), nats: randomSecret() };
  return startServers({ children, folder, passwords, isDurable, isThrowAway: true });
}

const urlsOf = (urlFor) =>
  Object.fromEntries(
    Object.entries(servers).map(([name, { variable }]) => [variable, urlFor(variable, name)]),
  );

// Takes the ports of the last run if they are still free, so that URLs which a user has noted stay valid.
async function portsFor(names, folder) {
  const file = path.join(folder, 'ports.json');
  const ports = readJson(file) ?? {};
  for (const name of names) ports[name] = await anyFreePort(ports[name], Object.values(ports));
  writeAtomically(file, JSON.stringify(ports), { mode: 0o600 });
  return ports;
}

function missingProgramsMessage(missing, complaint) {
  const titles = missing.map((name) => `${programs[name].title} ${programs[name].minimum} or newer`);
  const variables = missing.map((name) => servers[name].variable);
  const packages = missing.map((name) => programs[name].debianPackage);
  return [
    `Pacekeeper needs ${titles.join(', ')}, not found on this machine. Do one of these:`,
    `  1. use servers that already run: set ${variables.join(', ')}`,
    `  2. install them, on Debian or Ubuntu: apt-get install ${packages.join(' ')}`,
    '  3. install Docker with Compose and start its engine',
    ...(complaint ? [`apt-get failed with:\n${complaint}`] : []),
  ].join('\n');
}

async function startRedis({ children, folder, program, port, password, isDurable }) {
  const data = path.join(folder, 'redis');
  mkdirSync(data, { recursive: true, mode: 0o700 });
  // The settings are in a file because they contain the password, and every user of the machine can read a process's arguments.
  const configuration = path.join(data, 'redis.conf');
  writeAtomically(configuration, redisConfiguration({ data, port, password, isDurable }), { mode: 0o600 });
  const child = children.start('redis', program.file, [configuration], {
    cwd: data,
    endOrder: EndOrder.redis,
    log: path.join(folder, 'logs', 'redis.log'),
  });
  await waitUntilReady('Redis', child, port, redisProbe(password));
  return `redis://default:${password}@127.0.0.1:${port}`;
}

function redisConfiguration({ data, port, password, isDurable }) {
  return [
    `port ${port}`,
    'bind 127.0.0.1',
    `requirepass ${password}`,
    `dir ${JSON.stringify(data)}`,
    `appendonly ${isDurable ? 'yes' : 'no'}`,
    'save ""',
    'maxmemory-policy noeviction',
    '',
  ].join('\n');
}

async function startNats({ children, folder, program, port, password, isDurable }) {
  const data = path.join(folder, 'nats');
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const configuration = path.join(data, 'nats.conf');
  const { version } = program;
  const content = natsConfiguration({ data, port, password, version, isDurable });
  writeAtomically(configuration, content, { mode: 0o600 });
  const child = children.start('nats', program.file, ['--config', configuration], {
    cwd: data,
    endOrder: EndOrder.nats,
    log: path.join(folder, 'logs', 'nats.log'),
  });
  await waitUntilReady('NATS', child, port, natsProbe);
  return `nats://${NATS_USER}:${password}@127.0.0.1:${port}`;
}

export function natsConfiguration({ data, port, password, version, isDurable }) {
  const syncs = isDurable && isAtLeast(version, NATS_WITH_SYNC_INTERVAL);
  return [
    'host: "127.0.0.1"',
    `port: ${port}`,
    'server_name: "pacekeeper"',
    `authorization { user: ${NATS_USER}, password: ${JSON.stringify(password)} }`,
    'jetstream {',
    `  store_dir: ${JSON.stringify(data)}`,
    // The default syncs every two minutes, so a power cut would lose acknowledged messages.
    ...(syncs ? ['  sync_interval: always'] : []),
    '}',
    '',
  ].join('\n');
}

// Starts servers in containers of docker-compose.yml. This is used for servers whose programs are not installed.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { EndOrder } from './children.mjs';
import { inRoot } from './files.mjs';
import { natsProbe, postgresProbe, redisProbe, waitUntilReady } from './ports.mjs';

// The variables, names and passwords of docker-compose.yml.
const services = {
  postgres: {
    portVariable: 'POSTGRES_HOST_PORT',
    probe: () => postgresProbe,
    url: (port) => `postgres://pacekeeper:pacekeeper@127.0.0.1:${port}/pacekeeper`,
  },
  redis: {
    portVariable: 'REDIS_HOST_PORT',
    passwordVariable: 'REDIS_PASSWORD',
    probe: redisProbe,
    url: (port, password) => `redis://default:${password}@127.0.0.1:${port}`,
  },
  nats: {
    portVariable: 'NATS_HOST_PORT',
    passwordVariable: 'NATS_PASSWORD',
    probe: () => natsProbe,
    url: (port, password) => `nats://pacekeeper:${password}@127.0.0.1:${port}`,
  },
};

/** True if Docker Compose is installed and its engine runs. */
export function hasCompose() {
  try {
    for (const args of [['compose', 'version'], ['info']]) {
      execFileSync('docker', args, { stdio: 'ignore', timeout: 15_000 });
    }
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts these servers in containers and returns their URLs. `docker compose up` runs in the foreground as one of our
 * children. When it ends, it stops the containers.
 */
export async function startWithCompose({ children, folder, names, ports, passwords }) {
  const project = `pacekeeper-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`;
  const env = { ...process.env };
  for (const name of names) {
    const { portVariable, passwordVariable } = services[name];
    env[portVariable] = String(ports[name]);
    if (passwordVariable) env[passwordVariable] = passwords[name];
  }
  const args = ['compose', '-p', project, 'up', '--abort-on-container-exit', ...names];
  const child = children.start('docker compose', 'docker', args, {
    cwd: inRoot(),
    env,
    endOrder: EndOrder.postgres,
    log: path.join(folder, 'logs', 'compose.log'),
  });
  const ready = async (name) => {
    const { probe, url } = services[name];
    const [port, password] = [ports[name], passwords[name]];
    await waitUntilReady(name, child, port, probe(password));
    return [name, url(port, password)];
  };
  return Object.fromEntries(await Promise.all(names.map(ready)));
}

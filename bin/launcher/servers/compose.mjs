import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { EndOrder } from '../children.mjs';
import { inRoot } from '../paths.mjs';
import { answers, natsProbe, postgresProbe, redisProbe } from './probes.mjs';
import { waitUntilReady } from './readiness.mjs';

// As docker-compose.yml has them.
const services = {
  postgres: {
    portVariable: 'POSTGRES_HOST_PORT',
    probe: postgresProbe,
    url: (port) => `postgres://pacekeeper:pacekeeper@127.0.0.1:${port}/pacekeeper`,
  },
  redis: { portVariable: 'REDIS_HOST_PORT', probe: redisProbe, url: (port) => `redis://127.0.0.1:${port}` },
  nats: { portVariable: 'NATS_HOST_PORT', probe: natsProbe, url: (port) => `nats://127.0.0.1:${port}` },
};

/** Whether Docker Compose is there and an engine answers it. */
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
 * Runs these servers in containers. `docker compose up` stays in the foreground: it is a child like any other, whose
 * end stops the containers. Answers their URLs.
 */
export async function startWithCompose({ children, folder, names, ports }) {
  const project = `pacekeeper-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`;
  const env = { ...process.env };
  for (const name of names) env[services[name].portVariable] = String(ports[name]);
  const args = ['compose', '-p', project, 'up', '--abort-on-container-exit', ...names];
  const child = children.start('docker compose', 'docker', args, {
    cwd: inRoot(),
    env,
    endOrder: EndOrder.postgres,
    log: path.join(folder, 'logs', 'compose.log'),
  });
  const ready = async (name) => {
    await waitUntilReady(name, child, () => answers({ port: ports[name], ...services[name].probe }));
    return [name, services[name].url(ports[name])];
  };
  return Object.fromEntries(await Promise.all(names.map(ready)));
}

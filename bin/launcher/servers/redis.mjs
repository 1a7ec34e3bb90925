import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { EndOrder } from '../children.mjs';
import { answers, redisProbe } from './probes.mjs';
import { waitUntilReady } from './readiness.mjs';

export async function startRedis({ children, folder, program, port, isDurable }) {
  const data = path.join(folder, 'redis');
  mkdirSync(data, { recursive: true });
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: data,
    appendonly: isDurable ? 'yes' : 'no',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = children.start('redis', program.file, flags, {
    cwd: data,
    endOrder: EndOrder.redis,
    log: path.join(folder, 'logs', 'redis.log'),
  });
  await waitUntilReady('Redis', child, () => answers({ port, ...redisProbe }));
  return `redis://127.0.0.1:${port}`;
}

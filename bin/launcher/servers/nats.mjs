import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { EndOrder } from '../children.mjs';
import { isAtLeast } from '../programs.mjs';
import { answers, natsProbe } from './probes.mjs';
import { waitUntilReady } from './readiness.mjs';

const KNOWS_SYNC_INTERVAL = '2.10'; // older servers refuse a configuration with a field they do not know

export async function startNats({ children, folder, program, port, isDurable }) {
  const data = path.join(folder, 'nats');
  mkdirSync(data, { recursive: true });
  const configuration = path.join(data, 'nats.conf');
  writeFileSync(configuration, configurationFor({ data, port, version: program.version, isDurable }));
  const child = children.start('nats', program.file, ['--config', configuration], {
    cwd: data,
    endOrder: EndOrder.nats,
    log: path.join(folder, 'logs', 'nats.log'),
  });
  await waitUntilReady('NATS', child, () => answers({ port, ...natsProbe }));
  return `nats://127.0.0.1:${port}`;
}

export function configurationFor({ data, port, version, isDurable }) {
  const syncs = isDurable && isAtLeast(version, KNOWS_SYNC_INTERVAL);
  return [
    'host: "127.0.0.1"',
    `port: ${port}`,
    'server_name: "pacekeeper"',
    'jetstream {',
    `  store_dir: ${JSON.stringify(data)}`,
    // Without it an acknowledged message reaches the disk up to two minutes later.
    ...(syncs ? ['  sync_interval: always'] : []),
    '}',
    '',
  ].join('\n');
}

import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** A running `npm start`, with its data in a folder of the test. */
export interface Started {
  readonly process: ChildProcess;
  /** The output so far, stdout and stderr in the order of arrival. */
  seen(): string;
  readonly ended: Promise<number | null>;
}

const root = path.resolve(import.meta.dirname, '../..');
const runFolder = new URL('../../bin/launcher/run-folder.mjs', import.meta.url).href;
/** Deletes a run's folder in the same way as `npm run reset`. */
export const { removeRunFolder } = (await import(runFolder)) as {
  removeRunFolder(folder: string): Promise<void>;
};

const POLL_MS = 50;
// These ports differ from those of a developer's `npm start`, which may run at the same time.
const PORTS = { PORT: '13000', WORKER_PORT: '13100', SIMULATOR_PORT: '13200' };

/** Starts `npm start` with its own servers; the URLs in the environment of the test are not passed on. */
export function startLauncher(folder: string, extra: NodeJS.ProcessEnv = {}): Started {
  const {
    DATABASE_URL: _d,
    REDIS_URL: _r,
    NATS_URL: _n,
    NODE_OPTIONS: _o,
    npm_lifecycle_event: _e,
    ...ours
  } = process.env;
  const child = spawn(process.execPath, ['bin/start.mjs', '--local', folder], {
    cwd: root,
    env: { ...ours, ...PORTS, ...extra },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let seen = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (seen += text));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { process: child, seen: () => seen, ended };
}

/** Waits for the line `ready`. The wait has no limit of its own; the time-out of the test ends it. */
export async function ready(started: Started): Promise<Started> {
  while (!/^ready /m.test(started.seen())) {
    if (started.process.exitCode !== null) throw new Error(`did not start:\n${started.seen()}`);
    await pause(POLL_MS);
  }
  return started;
}

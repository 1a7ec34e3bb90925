// Runs a process of an image as Kubernetes does: another user than root, a read-only file system, no capabilities. It uses runc, without a
// daemon, in the network of this machine, so that the process reaches servers on 127.0.0.1.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { lastLines } from './files.mjs';
import { until } from './processes.mjs';
import { Failure } from './terminal.mjs';

const HEALTHY_WITHIN_MS = 60_000;

/** A container of a mounted image. `config` is the configuration of the image; `env` is added to its variables. */
export class Container {
  #children;
  #runc;
  #bundle;
  #name;
  #healthcheck;
  #child;

  constructor(children, { runc, folder, root, name, config, args, env }) {
    this.#children = children;
    this.#runc = { file: runc, options: ['--root', path.join(folder, 'runc')] };
    this.#bundle = path.join(folder, name);
    this.#name = `pacekeeper-${name}-${process.pid}`;
    this.#healthcheck = config.Healthcheck.Test.slice(1);
    mkdirSync(this.#bundle, { recursive: true, mode: 0o700 });
    // The variables contain passwords.
    const file = path.join(this.#bundle, 'config.json');
    writeFileSync(file, JSON.stringify(bundleOf({ root, config, args, env })), { mode: 0o600 });
  }

  /** Runs the container to its end and returns `{ code, output }`. */
  run() {
    return this.#call('run', '--bundle', this.#bundle, this.#name);
  }

  /** Starts the container and waits until the health check of the image passes. */
  async start() {
    const { file, options } = this.#runc;
    const args = [...options, 'run', '--bundle', this.#bundle, this.#name];
    this.#child = this.#children.start(this.#name, file, args, { log: path.join(this.#bundle, 'log') });
    const isHealthy = async () => (await this.exec(...this.#healthcheck)).code === 0;
    if (await until(isHealthy, { withinMs: HEALTHY_WITHIN_MS, everyMs: 200 })) return;
    throw new Failure(`The health check of ${this.#name} fails:\n${lastLines(this.#child.log)}`);
  }

  /** Runs a program in the running container and returns `{ code, output }`. */
  exec(...args) {
    return this.#call('exec', this.#name, ...args);
  }

  /** Sends SIGTERM and returns the exit code of the process. */
  async stop() {
    this.#child.onExit = () => {};
    await this.#call('kill', this.#name, 'TERM');
    return (await this.#child.ended).code;
  }

  #call(...args) {
    return this.#children.run('runc', this.#runc.file, [...this.#runc.options, ...args]);
  }
}

/** The container as runc reads it: https://github.com/opencontainers/runtime-spec. */
function bundleOf({ root, config: { Env, User, WorkingDir }, args, env }) {
  if (User !== 'node') throw new Failure(`The image runs as "${User}", not as node.`);
  return {
    ociVersion: '1.0.2',
    root: { path: root, readonly: true },
    process: {
      user: { uid: 1000, gid: 1000 },
      args,
      env: [...Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
      cwd: WorkingDir,
      noNewPrivileges: true,
      capabilities: {},
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
      { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'size=64m'] },
    ],
    linux: { namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })) },
  };
}

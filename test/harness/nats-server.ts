import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';

const FOLDERS = [
  ...(process.env.PATH ?? '').split(delimiter),
  '/usr/sbin',
  '/usr/local/sbin',
  '/usr/local/bin',
];

/** A server of one test file's own: streams have fixed names, and only one's own server may be killed. */
export class NatsServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
  ) {}

  static async start(): Promise<NatsServer> {
    const folder = mkdtempSync(join(tmpdir(), 'pacekeeper-nats-'));
    const server = new NatsServer(folder, await freePort());
    await server.start();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** Again after `kill`, with what it had. */
  async start(): Promise<void> {
    const configuration = join(this.folder, 'nats.conf');
    const store = JSON.stringify(join(this.folder, 'data'));
    writeFileSync(
      configuration,
      `host: "127.0.0.1"\nport: ${this.port}\njetstream {\n  store_dir: ${store}\n}\n`,
    );
    this.child = spawn(program(), ['--config', configuration], { stdio: 'ignore' });
    await eventually('nats-server', async () => {
      const connection = await connect({ servers: this.url, reconnect: false, timeout: 500 });
      await connection.close();
      return true;
    });
  }

  async kill(): Promise<void> {
    if (!this.child) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
    this.child = undefined;
  }

  /** What it had is gone, as with a disk; `start` brings up an empty one. */
  async lose(): Promise<void> {
    await this.kill();
    rmSync(join(this.folder, 'data'), { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function program(): string {
  const found = FOLDERS.map((folder) => join(folder, 'nats-server')).find((file) => existsSync(file));
  if (!found) throw new Error('There is no nats-server in the usual folders');
  return found;
}

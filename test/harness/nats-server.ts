import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { undoneOnFailure } from './undo.js';

const FOLDERS = [
  ...(process.env.PATH ?? '').split(delimiter),
  '/usr/sbin',
  '/usr/local/sbin',
  '/usr/local/bin',
];

/** A NATS server for one test file. Stream names are fixed, so files cannot share a server. A test may kill the server. */
export class NatsServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly configuration: string,
    private readonly program: string,
  ) {}

  /** `configuration` has further lines of the configuration file. `program` is by default the installed one. */
  static async start(configuration = '', program = installed()): Promise<NatsServer> {
    const folder = mkdtempSync(join(tmpdir(), 'pacekeeper-nats-'));
    const server = new NatsServer(folder, await freePort(), configuration, program);
    return undoneOnFailure(async (onFailure) => {
      onFailure(() => server.stop());
      await server.start();
      return server;
    });
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** Starts the server again after `kill`, with its data and on the same port. */
  async start(): Promise<void> {
    const file = join(this.folder, 'nats.conf');
    const store = JSON.stringify(join(this.folder, 'data'));
    writeFileSync(
      file,
      `host: "127.0.0.1"\nport: ${this.port}\njetstream {\n  store_dir: ${store}\n}\n${this.configuration}\n`,
    );
    this.child = spawn(this.program, ['--config', file], { stdio: 'ignore' });
    // NATS sends INFO to each connection before a login.
    await eventually('nats-server', () => this.sendsInfo());
  }

  private async sendsInfo(): Promise<boolean> {
    const socket = connect(this.port, '127.0.0.1');
    try {
      const [greeting] = (await once(socket, 'data')) as [Buffer];
      return greeting.toString().startsWith('INFO ');
    } finally {
      socket.destroy();
    }
  }

  /** The server keeps its connections and answers nothing, until `thaw`. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  kill(): Promise<void> {
    return this.signal('SIGKILL');
  }

  /** Ends the server as an operator does. A server of a cluster first hands over the streams that it leads. */
  end(): Promise<void> {
    return this.signal('SIGTERM');
  }

  private async signal(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (!child) return;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    }
    this.child = undefined;
  }

  /** Kills the server and deletes its data, as if the disk were lost. After that, `start` starts an empty server. */
  async loseData(): Promise<void> {
    await this.kill();
    rmSync(join(this.folder, 'data'), { recursive: true, force: true });
  }

  /** Kills the server and lets it forget which messages it has delivered to a durable consumer, as a killed NATS 2.9 may. */
  async losePlace(stream: string, durable: string): Promise<void> {
    await this.kill();
    const place = join('jetstream', '$G', 'streams', stream, 'obs', durable, 'o.dat');
    rmSync(join(this.folder, 'data', place));
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function installed(): string {
  const found = FOLDERS.map((folder) => join(folder, 'nats-server')).find((file) => existsSync(file));
  if (!found) throw new Error('There is no nats-server in the usual folders');
  return found;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { shiftedClock } from './shifted-clock.js';
import { undoneOnFailure } from './undo.js';

const FOLDERS = [process.env.PATH, '/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/usr/bin'];

/** A Redis server for one test file. The test may kill the server. After a new start the server is empty. */
export class RedisServer {
  private child: ChildProcess | undefined;
  // Each server has its own folder, because a replica, a Sentinel and a cluster node write files, and every server loads a dump from its folder.
  private folder: string | undefined;

  private constructor(
    readonly port: number,
    private readonly more: readonly string[],
    private readonly clock: Readonly<Record<string, string>> = {},
  ) {}

  /** `more` has further options, or a configuration file followed by options. */
  static async start(...more: string[]): Promise<RedisServer> {
    return RedisServer.started(new RedisServer(await freePort(), more));
  }

  /** A server whose clock is ahead, or behind if `aheadMs` is negative. */
  static async startAhead(aheadMs: number): Promise<RedisServer> {
    return RedisServer.started(new RedisServer(await freePort(), [], shiftedClock(aheadMs)));
  }

  private static started(server: RedisServer): Promise<RedisServer> {
    return undoneOnFailure(async (onFailure) => {
      onFailure(() => server.kill());
      await server.start();
      return server;
    });
  }

  /** A node with cluster mode on. Without a port of its own its bus takes the server's port + 10,000, which may be in use. */
  static async startClusterNode(...more: string[]): Promise<RedisServer> {
    return RedisServer.start('--cluster-enabled', 'yes', '--cluster-port', String(await freePort()), ...more);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const isFile = this.more[0]?.startsWith('/');
    this.folder ??= mkdtempSync(join(tmpdir(), 'pacekeeper-redis-'));
    const ours = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder];
    const memoryOnly = ['--save', '', '--appendonly', 'no'];
    const options = isFile
      ? [...this.more.slice(0, 1), ...ours, ...this.more.slice(1)]
      : [...ours, ...memoryOnly, ...this.more];
    const env = { ...process.env, PATH: FOLDERS.join(delimiter), ...this.clock };
    this.child = spawn('redis-server', options, { stdio: 'ignore', env });
    // `once` rejects if the server cannot be spawned.
    const failed = once(this.child, 'exit').then(([code]) =>
      Promise.reject(new Error(`redis-server ended with ${code}`)),
    );
    failed.catch(() => undefined);
    await Promise.race([failed, eventually('redis-server', () => this.answers())]);
  }

  /** Kills the server, and keeps what it knows of its cluster for the next start. */
  async crash(): Promise<void> {
    const { child } = this;
    if (!child) return;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    this.child = undefined;
  }

  async kill(): Promise<void> {
    await this.crash();
    if (this.folder) rmSync(this.folder, { recursive: true, force: true });
    this.folder = undefined;
  }

  /** The server keeps its connections and answers nothing until `thaw`. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  /** Sends one command on a connection of its own. */
  async command(name: string, ...args: ReadonlyArray<string | number>): Promise<unknown> {
    const redis = new Redis(this.url, {
      lazyConnect: true,
      retryStrategy: () => null,
      commandTimeout: 2_000,
    });
    // `connect` rejects with the same error; an unhandled `error` would end the test file.
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await redis.call(name, ...args);
    } finally {
      redis.disconnect();
    }
  }

  private async answers(): Promise<boolean> {
    return (await this.command('PING')) === 'PONG';
  }
}

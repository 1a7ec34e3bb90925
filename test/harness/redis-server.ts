import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { delimiter } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from './eventually.js';

const FOLDERS = [process.env.PATH, '/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/usr/bin'];

/** A server of one test file's own, which may be killed. Started again it has forgotten everything. */
export class RedisServer {
  private child: ChildProcess | undefined;

  private constructor(private readonly port: number) {}

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const options = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const env = { ...process.env, PATH: FOLDERS.join(delimiter) };
    this.child = spawn('redis-server', options, { stdio: 'ignore', env });
    const failed = once(this.child, 'error').then(([error]) => Promise.reject(error as Error));
    failed.catch(() => undefined);
    await Promise.race([failed, eventually('redis-server', () => this.answers())]);
  }

  async kill(): Promise<void> {
    if (!this.child) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
    this.child = undefined;
  }

  private async answers(): Promise<boolean> {
    const redis = new Redis(this.url, { lazyConnect: true, retryStrategy: () => null });
    // Told by `connect` as well.
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return (await redis.ping()) === 'PONG';
    } finally {
      redis.disconnect();
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { testEnvironment } from '../harness/environment.js';
import { freePort } from '../harness/free-port.js';
import { NatsServer } from '../harness/nats-server.js';
import { PostgresServer } from '../harness/postgres-server.js';
import { ProductProcess } from '../harness/process.js';
import { RedisServer } from '../harness/redis-server.js';

const WRITER = 'dist/test/chaos/change-writer.js';
const OF_EACH = 2;
const NUMBERS = Array.from({ length: OF_EACH }, (_, n) => n + 1);

interface Server {
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Two apis, two workers (each with a relay, a sequencer and senders), two writers, and the servers they need. Each has a name and may be killed. */
export class Targets {
  /** The ids of changes, as the writers print them. */
  readonly confirmed = new Set<string>();
  readonly rolledBack = new Set<string>();
  private readonly processes = new Map<string, ProductProcess>();
  private readonly writers = new Map<string, ChildProcess>();

  private constructor(
    private readonly changesPerSecond: number,
    private readonly env: Readonly<Record<string, string>>,
    private readonly ports: readonly number[],
    private readonly servers: Readonly<Record<string, Server>>,
    readonly databaseUrl: string,
    readonly natsUrl: string,
    private readonly removeServers: () => Promise<unknown>,
  ) {}

  /** Starts the servers only. */
  static async create(changesPerSecond: number): Promise<Targets> {
    const [postgres, nats, redis] = await Promise.all([
      PostgresServer.start(),
      NatsServer.start(),
      RedisServer.start(),
    ]);
    const own = {
      TIME_SCALE: '900',
      REDIS_URL: redis.url,
      NATS_URL: nats.url,
      WEBHOOKS_ALLOW_PRIVATE: '1',
      // No athlete is connected. If the product calls a vendor all the same, then nobody outside of this machine.
      STRAVA_API_URL: 'http://127.0.0.1:9',
    };
    const { env } = await testEnvironment(own, { url: postgres.url, drop: () => Promise.resolve() });
    const ports = await Promise.all(NUMBERS.map(() => freePort()));
    const remove = () => Promise.all([postgres.stop(), nats.stop(), redis.kill()]);
    const servers = { postgres, nats, redis };
    return new Targets(changesPerSecond, env, ports, servers, postgres.url, nats.url, remove);
  }

  /** All that may be killed. */
  get names(): readonly string[] {
    return [...this.processes.keys(), ...this.writers.keys(), ...Object.keys(this.servers)];
  }

  get apis(): readonly string[] {
    return this.ports.map((port) => `http://127.0.0.1:${port}`);
  }

  async startProduct(): Promise<void> {
    const names = NUMBERS.flatMap((number) => [`api ${number}`, `worker ${number}`]);
    await Promise.all(names.map((name) => this.spawn(name)));
  }

  async startWriters(): Promise<void> {
    for (const number of NUMBERS) await this.spawn(`writer ${number}`);
  }

  /** Kills these at once, and starts them again: first the servers, and then the processes. */
  async kill(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.end(name)));
    const isServer = (name: string) => name in this.servers;
    for (const name of names.filter(isServer)) await this.servers[name]?.start();
    await Promise.all(names.filter((name) => !isServer(name)).map((name) => this.spawn(name)));
  }

  async endWriters(): Promise<void> {
    await Promise.all([...this.writers.keys()].map((name) => this.end(name)));
  }

  async stop(): Promise<void> {
    await this.endWriters();
    await Promise.all([...this.processes.values()].map((process) => process.stop()));
    await this.removeServers();
  }

  private async spawn(name: string): Promise<void> {
    const [kind = '', number] = name.split(' ');
    if (kind === 'writer') return this.startWriter(name);
    const PORT = kind === 'api' ? String(this.ports[Number(number) - 1]) : '0';
    this.processes.set(name, await ProductProcess.start(kind, { ...this.env, PORT }));
  }

  private async startWriter(name: string): Promise<void> {
    const CHANGES_PER_SECOND = String(this.changesPerSecond / OF_EACH);
    const env = { PATH: process.env.PATH, DATABASE_URL: this.databaseUrl, CHANGES_PER_SECOND };
    const child = spawn(process.execPath, [WRITER], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface(child.stdout).on('line', (text) => {
      const line = JSON.parse(text) as { committed?: string[]; rolledBack?: string[] };
      for (const id of line.committed ?? []) this.confirmed.add(id);
      for (const id of line.rolledBack ?? []) this.rolledBack.add(id);
    });
    this.writers.set(name, child);
    await once(child.stdout, 'data');
  }

  private async end(name: string): Promise<void> {
    const server = this.servers[name];
    if (server) return server.kill();
    const writer = this.writers.get(name);
    if (writer) {
      if (writer.exitCode !== null || writer.signalCode !== null) return;
      const closed = once(writer, 'close');
      writer.kill('SIGKILL');
      await closed;
      return;
    }
    const process = this.processes.get(name);
    process?.signal('SIGKILL');
    await process?.exited();
  }
}

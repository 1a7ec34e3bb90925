import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { RedisServer } from './redis-server.js';

const MASTER = 'mymaster';
const OF_EACH = 3;
const QUORUM = 2;
const DOWN_AFTER_MS = 2_000;

/** One master, two replicas and three Sentinels on loopback. */
export class RedisSentinels {
  private constructor(
    readonly servers: readonly RedisServer[],
    private readonly sentinels: readonly RedisServer[],
    private readonly folder: string,
  ) {}

  static async start(): Promise<RedisSentinels> {
    const options = ['--repl-diskless-sync-delay', '0'];
    const master = await RedisServer.start(...options);
    const follow = ['--replicaof', '127.0.0.1', String(master.port)];
    const replicas = await Promise.all(
      Array.from({ length: OF_EACH - 1 }, () => RedisServer.start(...options, ...follow)),
    );
    const folder = mkdtempSync(join(tmpdir(), 'pacekeeper-sentinels-'));
    const sentinels = await Promise.all(
      Array.from({ length: OF_EACH }, (_, n) => {
        const file = join(folder, `${n}.conf`);
        const settings = [
          `monitor ${MASTER} 127.0.0.1 ${master.port} ${QUORUM}`,
          `down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
          `failover-timeout ${MASTER} 6000`,
        ];
        writeFileSync(file, settings.map((line) => `sentinel ${line}\n`).join(''));
        return RedisServer.start(file, '--sentinel');
      }),
    );
    const started = new RedisSentinels([master, ...replicas], sentinels, folder);
    await started.isWhole();
    return started;
  }

  get url(): string {
    return `redis+sentinel://${this.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${MASTER}`;
  }

  async master(): Promise<RedisServer> {
    const [, port] = (await this.ask('get-master-addr-by-name')) as [string, string];
    return this.serverAt(Number(port));
  }

  async replica(): Promise<RedisServer> {
    const master = await this.master();
    return this.servers.find((server) => server !== master) as RedisServer;
  }

  /** Asks for a fail-over. The Sentinels refuse it while they still finish another one. */
  async failOver(): Promise<void> {
    await eventually('a fail-over', async () => (await this.ask('failover')) === 'OK');
  }

  /** Waits until the Sentinels know each other, and both replicas follow the master. */
  async isWhole(): Promise<void> {
    await eventually(
      'three servers and three Sentinels',
      async () => {
        const master = await this.master();
        const replication = String(await master.command('INFO', 'replication'));
        const known = await Promise.all(
          this.sentinels.map((sentinel) => sentinel.command('SENTINEL', 'ckquorum', MASTER)),
        );
        const online = replication.match(/state=online/g)?.length ?? 0;
        return (
          online === OF_EACH - 1 &&
          replication.includes('role:master') &&
          known.every((answer) => String(answer).startsWith(`OK ${OF_EACH}`))
        );
      },
      60_000,
    );
  }

  async stop(): Promise<void> {
    for (const server of this.servers) server.thaw();
    await Promise.all([...this.servers, ...this.sentinels].map((server) => server.kill()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private ask(command: string): Promise<unknown> {
    return (this.sentinels[0] as RedisServer).command('SENTINEL', command, MASTER);
  }

  private serverAt(port: number): RedisServer {
    const server = this.servers.find((one) => one.port === port);
    if (!server) throw new Error(`no server has port ${port}`);
    return server;
  }
}

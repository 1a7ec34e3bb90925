import { eventually } from './eventually.js';
import { RedisServer } from './redis-server.js';

const MASTERS = 3;
const SLOTS = 16_384;
// A node that is silent for this long counts as failed.
const NODE_TIMEOUT_MS = 2_000;

interface Node {
  readonly id: string;
  readonly port: number;
  readonly isMaster: boolean;
  readonly hasFailed: boolean;
}

/** A Redis Cluster on loopback: three masters, each with as many replicas as the test needs. */
export class RedisCluster {
  private constructor(readonly servers: readonly RedisServer[]) {}

  static async start(replicasOfEach = 0): Promise<RedisCluster> {
    const count = MASTERS * (1 + replicasOfEach);
    const options = ['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--repl-diskless-sync-delay', '0'];
    const servers = await Promise.all(
      Array.from({ length: count }, () => RedisServer.startClusterNode(...options)),
    );
    const cluster = new RedisCluster(servers);
    await cluster.meet();
    for (const [index, replica] of servers.slice(MASTERS).entries())
      await cluster.follow(replica, servers[index % MASTERS] as RedisServer);
    await cluster.isWhole();
    return cluster;
  }

  get url(): string {
    return `redis+cluster://${this.servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  }

  /** The master that has this key. */
  async masterOf(key: string): Promise<RedisServer> {
    const slot = Number(await (await this.anyLiving()).command('CLUSTER', 'KEYSLOT', key));
    const slots = (await (await this.anyLiving()).command('CLUSTER', 'SLOTS')) as Array<
      [number, number, [string, number]]
    >;
    const port = slots.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
    return this.serverAt(port ?? 0);
  }

  /** A replica of that master. */
  async replicaOf(master: RedisServer): Promise<RedisServer> {
    const id = String(await master.command('CLUSTER', 'MYID'));
    const [line] = (await master.command('CLUSTER', 'REPLICAS', id)) as string[];
    return this.serverAt(portIn(line ?? ''));
  }

  /** Waits until every server answers, knows all others and serves all slots, and every replica has its master's data. */
  async isWhole(): Promise<void> {
    await eventually(
      'a whole cluster',
      async () => {
        const states = await Promise.all(this.servers.map((server) => this.isSettled(server)));
        return states.every(Boolean);
      },
      60_000,
    );
  }

  async stop(): Promise<void> {
    for (const server of this.servers) server.thaw();
    await Promise.all(this.servers.map((server) => server.kill()));
  }

  private async meet(): Promise<void> {
    const [first, ...others] = this.servers as [RedisServer, ...RedisServer[]];
    for (const [index, master] of this.servers.slice(0, MASTERS).entries()) {
      const from = Math.floor((index * SLOTS) / MASTERS);
      const to = Math.floor(((index + 1) * SLOTS) / MASTERS) - 1;
      await master.command('CLUSTER', 'ADDSLOTSRANGE', from, to);
      // Otherwise the nodes have to find different epochs before they agree.
      await master.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    }
    const bus = Number((await configOf(first, 'cluster-port')) ?? 0);
    for (const other of others) await other.command('CLUSTER', 'MEET', '127.0.0.1', first.port, bus);
    await eventually('all nodes know each other', async () => {
      const known = await Promise.all(this.servers.map((server) => nodesBy(server)));
      return known.every(
        (nodes) => nodes.length === this.servers.length && nodes.every(({ port }) => port > 0),
      );
    });
  }

  private async follow(replica: RedisServer, master: RedisServer): Promise<void> {
    const id = String(await master.command('CLUSTER', 'MYID'));
    await eventually('the replica', async () => (await replica.command('CLUSTER', 'REPLICATE', id)) === 'OK');
  }

  private async isSettled(server: RedisServer): Promise<boolean> {
    const [info, nodes, replication] = await Promise.all([
      server.command('CLUSTER', 'INFO'),
      nodesBy(server),
      server.command('INFO', 'replication'),
    ]);
    const replicas = this.servers.length - MASTERS;
    return (
      String(info).includes('cluster_state:ok') &&
      !String(replication).includes('master_link_status:down') &&
      nodes.filter(({ isMaster, hasFailed }) => !isMaster && !hasFailed).length === replicas
    );
  }

  private async anyLiving(): Promise<RedisServer> {
    for (const server of this.servers) {
      const answer = await server.command('PING').catch(() => undefined);
      if (answer === 'PONG') return server;
    }
    throw new Error('no node answers');
  }

  private serverAt(port: number): RedisServer {
    const server = this.servers.find((one) => one.port === port);
    if (!server) throw new Error(`no node has port ${port}`);
    return server;
  }
}

async function nodesBy(server: RedisServer): Promise<Node[]> {
  const lines = String(await server.command('CLUSTER', 'NODES'))
    .trim()
    .split('\n');
  return lines.map((line) => {
    const [id = '', , flags = ''] = line.split(' ');
    return {
      id,
      port: portIn(line),
      isMaster: flags.includes('master'),
      hasFailed: /fail|handshake/.test(flags),
    };
  });
}

const portIn = (line: string) => Number(/:(\d+)@/.exec(line)?.[1] ?? 0);

async function configOf(server: RedisServer, name: string): Promise<string | undefined> {
  return ((await server.command('CONFIG', 'GET', name)) as string[])[1];
}

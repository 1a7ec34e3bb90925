import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connectNats } from '../../libs/platform/src/nats/connect.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { NatsServer } from './nats-server.js';

/** The NATS for clusters, of 2.10.23 or later; undefined if there is none. */
export const newNats = process.env.NATS_CLUSTER_PATH;
const START_MS = 60_000;

/** `npm test` and `npm run chaos` unpack a NATS for clusters if they can. Without it the tests that need it are skipped. */
export const hasClusterNats = newNats !== undefined;

/** A cluster of NATS servers with JetStream. Their names are `nats-1`, `nats-2` and so on. */
export class NatsCluster {
  private constructor(readonly servers: ReadonlyMap<string, NatsServer>) {}

  /** Resolves once JetStream has a leader. */
  static async start(size = 3): Promise<NatsCluster> {
    const routes = await Promise.all(Array.from({ length: size }, () => freePort()));
    const urls = routes.map((port) => `"nats://127.0.0.1:${port}"`).join();
    const started = await Promise.all(
      routes.map(async (port, index): Promise<[string, NatsServer]> => {
        const name = `nats-${index + 1}`;
        const lines = [
          `server_name: "${name}"`,
          `cluster { name: C, host: "127.0.0.1", port: ${port}, routes: [${urls}] }`,
        ];
        return [name, await NatsServer.start(lines.join('\n'), newNats)];
      }),
    );
    const cluster = new NatsCluster(new Map(started));
    await eventually('JetStream has a leader', () => cluster.withManager(() => true), START_MS);
    return cluster;
  }

  /** All servers, as NATS_URL takes them. */
  get url(): string {
    return [...this.servers.values()].map(({ url }) => url).join();
  }

  /** The server that leads the stream. */
  async leaderOf(stream: string): Promise<string> {
    return eventually(`a leader of ${stream}`, () =>
      this.withManager(async ({ streams }) => (await streams.info(stream)).cluster?.leader),
    );
  }

  /** True if all replicas of the stream have all its messages. */
  async isCurrent(stream: string): Promise<boolean> {
    return this.withManager(async ({ streams }) => {
      const { cluster, config } = await streams.info(stream);
      const replicas = cluster?.replicas ?? [];
      return replicas.length === config.num_replicas - 1 && replicas.every(({ current }) => current);
    });
  }

  async stop(): Promise<void> {
    await Promise.all([...this.servers.values()].map((server) => server.stop()));
  }

  private async withManager<T>(work: (manager: JetStreamManager) => T | Promise<T>): Promise<T> {
    const connection = await connectNats({ urls: this.url.split(',') }, 'test');
    try {
      return await work(await jetstreamManager(connection, { timeout: 2_000 }));
    } finally {
      await connection.close();
    }
  }
}

import { Balancer } from '../../harness/balancer.js';
import { freePort } from '../../harness/free-port.js';
import { World } from '../../harness/world.js';
import { type Engine, type Engines } from './engines.js';
import { clockOf } from './clocks.js';
import { Replica } from './replica.js';

export const INGEST_KEY = 'an-ingest-key-for-a-week';
const APIS = 2;
const WORKERS = 3;

export interface StackOptions {
  readonly timeScale: number;
  readonly workers?: number;
  readonly engines: Engines;
  /** False: the processes have the right time. */
  readonly hasWrongClocks?: boolean;
}

/** The whole product on servers of its own: two apis behind a balancer, workers and the vendors. All but the vendors may be killed. */
export class Stack {
  private constructor(
    readonly world: World,
    readonly replicas: readonly Replica[],
    private readonly engines: Engines,
    private readonly balancer: Balancer,
  ) {}

  static async start({
    timeScale,
    workers = WORKERS,
    engines,
    hasWrongClocks = true,
  }: StackOptions): Promise<Stack> {
    const ports = await Promise.all(Array.from({ length: APIS }, () => freePort()));
    const balancer = await Balancer.before(ports);
    const world = await World.start({
      timeScale,
      workers: 0,
      databaseUrl: engines.env.DATABASE_URL,
      address: balancer.url,
      env: { ...engines.env, INGEST_API_KEYS: INGEST_KEY, WEBHOOKS_ALLOW_PRIVATE: '1', LOG_LEVEL: 'info' },
    });
    const named = (kindOf: string, count: number, portOf: (n: number) => number) =>
      Array.from({ length: count }, (_, n) => {
        const clock = hasWrongClocks ? clockOf(kindOf, n) : {};
        return new Replica(`${kindOf} ${n + 1}`, { ...world.env, ...clock, PORT: String(portOf(n)) });
      });
    const replicas = [...named('api', APIS, (n) => ports[n] ?? 0), ...named('worker', workers, () => 0)];
    const stack = new Stack(world, replicas, engines, balancer);
    await Promise.all(replicas.map((replica) => replica.start()));
    // Otherwise Polar would hide what was uploaded before a new consent, and the product keeps it.
    await world.simulator.habit('polar', { revocation_unregisters: false });
    await world.control('POST', 'webhooks', { vendor: 'whoop', url: `${balancer.url}/webhooks/whoop` });
    return stack;
  }

  get servers(): readonly Engine[] {
    return this.engines.servers;
  }

  /** The URL of the Postgres server that takes writes now. */
  get databaseUrl(): string {
    return this.engines.databaseUrl();
  }

  get natsUrls(): readonly string[] {
    return this.engines.natsUrls;
  }

  /** Lets every frozen server and process go on. */
  heal(): void {
    for (const replica of this.replicas) replica.thaw();
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.stop()));
    await this.world.stop();
    await this.balancer.close();
    await this.engines.stop();
  }
}

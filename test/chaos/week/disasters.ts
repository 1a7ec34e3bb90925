import { setTimeout as pause } from 'node:timers/promises';
import { type World } from '../../harness/world.js';
import { type Random } from '../random.js';
import { type Progress } from '../stalls.js';
import { PROVIDERS } from './accounts.js';
import { FaultLog, type Trouble } from './fault-log.js';
import { type Stack } from './stack.js';

const LEAST_PAUSE_MS = 2_000;
const MOST_PAUSE_MS = 6_000;
// Longer than the shortest lease (5 s), so that a worker wakes up to find its work taken.
const WORKER_FROZEN_MS = 9_000;

interface Fault {
  readonly name: string;
  readonly weight: number;
  readonly cause: () => Promise<void>;
}

interface VendorFault {
  readonly kind: string;
  readonly weight: number;
  readonly order: Readonly<Record<string, unknown>>;
}

const VENDOR_FAULTS: readonly VendorFault[] = [
  { kind: 'http_500', weight: 3, order: {} },
  { kind: 'timeout', weight: 1, order: { count: 3 } },
  { kind: 'reset', weight: 2, order: { rate: 0.5 } },
  { kind: 'slow', weight: 2, order: { delay_ms: 1_500 } },
  { kind: 'malformed', weight: 1, order: { rate: 0.5 } },
  { kind: 'lost_answer', weight: 1, order: { count: 2 } },
  { kind: 'drop', weight: 1, order: { endpoint: 'webhooks', rate: 0.5 } },
  { kind: 'double', weight: 1, order: { endpoint: 'webhooks' } },
  { kind: 'reorder', weight: 1, order: { endpoint: 'webhooks' } },
];

/** Kills, freezes and restarts one thing after the other, while the vendors have outages of their own. */
export class Disasters implements Trouble {
  private readonly faults: readonly Fault[];
  private readonly stopping = new AbortController();
  private running: Promise<unknown> = Promise.resolve();
  private readonly log: FaultLog;
  private readonly world: World;

  constructor(
    private readonly stack: Stack,
    private readonly random: Random,
    progress: () => Progress,
  ) {
    this.world = stack.world;
    this.log = new FaultLog(stack.world, progress);
    this.faults = this.list();
  }

  get records() {
    return this.log.records;
  }

  start(): void {
    this.running = Promise.all([this.strike(), this.disturbVendors()]);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await this.log.stop();
    this.stack.heal();
    await this.world.simulator.clearFaults();
  }

  private list(): Fault[] {
    const { replicas, servers } = this.stack;
    const kill = (count: number) => () => {
      for (let n = 0; n < count; n += 1) this.random.pick(replicas).kill();
      return Promise.resolve();
    };
    const workers = replicas.filter(({ kind }) => kind === 'worker');
    const freezeWorker = () => {
      const worker = this.random.pick(workers);
      worker.freeze();
      void pause(WORKER_FROZEN_MS).then(() => worker.thaw());
      return Promise.resolve();
    };
    return [
      { name: 'SIGKILL of an api or a worker', weight: 60, cause: kill(1) },
      { name: 'SIGKILL of two or three at once', weight: 10, cause: kill(3) },
      { name: 'a worker frozen for 9 s', weight: 6, cause: freezeWorker },
      ...servers.flatMap(({ name, restart, freeze }) => [
        {
          name: `${name} killed and started again`,
          weight: 4,
          cause: () => restart(this.random.between(0, 4_000)),
        },
        {
          name: `${name} frozen for 3 to 8 s`,
          weight: 4,
          cause: () => freeze(this.random.between(3_000, 8_000)),
        },
      ]),
    ];
  }

  private async strike(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      await pause(this.random.between(LEAST_PAUSE_MS, MOST_PAUSE_MS));
      const { name, cause } = this.random.weighted(this.faults);
      await this.log.during(name, async () => {
        await cause();
        await pause(LEAST_PAUSE_MS);
      });
    }
  }

  private async disturbVendors(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      await pause(this.random.between(LEAST_PAUSE_MS, MOST_PAUSE_MS));
      const vendor = this.random.pick(PROVIDERS);
      const { kind, order } = this.random.weighted(VENDOR_FAULTS);
      await this.log.beside(`a vendor: ${kind}`, async () => {
        await this.world.control('POST', 'faults', { vendor, kind, ...order });
        await pause(this.random.between(LEAST_PAUSE_MS, MOST_PAUSE_MS));
        await this.world.control('DELETE', `faults?vendor=${vendor}`);
      });
    }
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import { tokenFor } from '../../harness/environment.js';
import { type Proxy } from '../../harness/proxy.js';
import { type Progress } from '../stalls.js';
import { FaultLog, type FaultRecord, type Trouble } from './fault-log.js';
import { type Stack } from './stack.js';

const FAULT_MS = 10_000;
const AFTERWARDS_MS = 6_000;
const PROBE_EVERY_MS = 250;
const PROBED = 'a-reader';
const ROUTES = ['/v1/me', '/v1/activities', '/v1/sleep', '/v1/imports'];

interface LinkFault {
  readonly name: string;
  readonly cause: (proxy: Proxy) => void;
}

const FAULTS: readonly LinkFault[] = [
  { name: 'latency of 200 ms', cause: (proxy) => proxy.shape({ latencyMs: 200 }) },
  { name: '4 kB a second', cause: (proxy) => proxy.shape({ bytesPerSecond: 4_000 }) },
  { name: 'requests lost, one direction', cause: (proxy) => proxy.mute('to the server') },
  { name: 'answers lost, one direction', cause: (proxy) => proxy.mute('to the client') },
  { name: 'half-open', cause: (proxy) => proxy.forget() },
  { name: 'cut', cause: (proxy) => proxy.cut() },
];

/** Breaks the link to each server in each way. Every process uses the same link, so all of them are hit at once. */
export class NetworkTrouble implements Trouble {
  static readonly LONGEST_MS = 3 * FAULTS.length * (FAULT_MS + AFTERWARDS_MS);
  private readonly log: FaultLog;
  private readonly stopping = new AbortController();
  private running: Promise<unknown> = Promise.resolve();
  private longestAnswerMs = 0;

  constructor(
    private readonly stack: Stack,
    private readonly proxies: Readonly<Record<string, Proxy>>,
    progress: () => Progress,
  ) {
    this.log = new FaultLog(stack.world, progress);
  }

  get records(): ReadonlyMap<string, FaultRecord> {
    return this.log.records;
  }

  start(): void {
    this.running = Promise.all([this.breakLinks(), this.probe()]);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await this.log.stop();
  }

  private async breakLinks(): Promise<void> {
    for (const [server, proxy] of Object.entries(this.proxies))
      for (const { name, cause } of FAULTS) {
        const fault = `${server}: ${name}`;
        this.longestAnswerMs = 0;
        await this.log.during(fault, async () => {
          cause(proxy);
          await pause(FAULT_MS);
          proxy.heal();
          await pause(AFTERWARDS_MS);
        });
        const record = this.records.get(fault);
        if (record) record.stalls['an answer'] = Math.round(this.longestAnswerMs / 100) / 10;
        console.log(fault, JSON.stringify(record));
      }
  }

  /** The api answers each request within five seconds, whatever the link does. */
  private async probe(): Promise<void> {
    const authorization = `Bearer ${await tokenFor(PROBED)}`;
    const ask = async (route: string) => {
      const begunAtMs = performance.now();
      const answer = await fetch(`${this.stack.world.url}${route}`, { headers: { authorization } });
      await answer.arrayBuffer();
      this.longestAnswerMs = Math.max(this.longestAnswerMs, performance.now() - begunAtMs);
    };
    while (!this.stopping.signal.aborted) {
      await Promise.all(ROUTES.map(ask));
      await pause(PROBE_EVERY_MS);
    }
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import {
  type ConsumerInfo,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
} from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { Gauge } from 'prom-client';
import { type Logger } from '../logging/logger.js';
import { OneAtATime } from '../process/one-at-a-time.js';
import { type Link, natsFailure } from './connect.js';

const TIMEOUT_MS = 1_500;
// A worker that holds a full batch pulls nothing, but it settles messages within this time.
const SILENT_AFTER_MS = 30_000;
// Workers pull again within this time after the consumer got another leader: the server forgets the pulls that waited.
const PULLED_AGAIN_MS = 10_000;
// A worker that has nothing to do pulls again within some milliseconds after a pull has expired.
const SECOND_LOOK_MS = 250;

export interface DurableName {
  readonly stream: string;
  readonly durable: string;
  /** Workers pull only while messages wait for this consumer. */
  readonly isOnDemand?: boolean;
}

export interface SilentConsumer {
  readonly consumer: string;
  readonly stream: string;
  /** Messages that wait for this consumer. */
  readonly waiting: number;
  /** Messages that were delivered and not settled. */
  readonly unsettled: number;
  /** The last delivery or settlement; null if there was none. */
  readonly last_active_at: string | null;
}

/** The last activity by the clock of NATS, and by the stopwatch of this process. */
interface Activity {
  readonly lastMs: number | undefined;
  readonly atMs: number;
}

interface ConsumerState extends DurableName {
  readonly isSilent: boolean;
  readonly view: SilentConsumer;
}

/**
 * Finds durable consumers that no worker pulls from, as NATS itself sees them, so any process may ask. A worker that pulls, but handles
 * nothing, is not found: its own readiness probe reports it.
 */
export class ConsumerStates {
  private readonly pulledAtMs = new Map<string, number>();
  private readonly activity = new Map<string, Activity>();

  constructor(
    private readonly connection: NatsConnection,
    private readonly link: Link,
  ) {}

  /** Undefined while NATS does not answer. */
  async silentOf(durables: readonly DurableName[]): Promise<SilentConsumer[] | undefined> {
    const states = await this.statesOf(durables);
    return states?.filter(({ isSilent }) => isSilent).map(({ view }) => view);
  }

  /** The state of each durable. Undefined while NATS does not answer. */
  async statesOf(durables: readonly DurableName[]): Promise<ConsumerState[] | undefined> {
    if (!this.link.isUp()) return undefined;
    try {
      const states = await this.statesNow(durables);
      const suspects = states.filter(({ isSilent }) => isSilent);
      if (suspects.length === 0) return states;
      await pause(SECOND_LOOK_MS);
      const again = await this.statesNow(suspects);
      return states.map((state) => again.find(({ durable }) => durable === state.durable) ?? state);
    } catch (error) {
      if (natsFailure(error) === error) throw error;
      return undefined;
    }
  }

  private async statesNow(durables: readonly DurableName[]): Promise<ConsumerState[]> {
    const manager = await jetstreamManager(this.connection, { timeout: TIMEOUT_MS, checkAPI: false });
    return Promise.all(
      durables.map(async (name) => {
        const { stream, durable } = name;
        const info = await manager.consumers.info(stream, durable).catch((error: unknown) => {
          if (isMissing(error)) return undefined;
          throw error;
        });
        return { ...name, isSilent: this.isSilent(name, info), view: viewOf(name, info) };
      }),
    );
  }

  /** A missing durable was never created: no worker has ever run. */
  private isSilent({ durable, isOnDemand }: DurableName, info: ConsumerInfo | undefined): boolean {
    if (!info) return true;
    if (isOnDemand && info.num_pending === 0) {
      this.activity.set(durable, { lastMs: lastActiveMs(info), atMs: performance.now() });
      return false;
    }
    if (info.num_waiting > 0) {
      this.pulledAtMs.set(durable, performance.now());
      return false;
    }
    if (performance.now() - (this.pulledAtMs.get(durable) ?? -Infinity) < PULLED_AGAIN_MS) return false;
    return performance.now() - this.activeAtMs(durable, lastActiveMs(info)) > SILENT_AFTER_MS;
  }

  /** The last activity by this process's stopwatch. The clocks of NATS and this process are compared at the first look only. */
  private activeAtMs(durable: string, lastMs: number | undefined): number {
    const known = this.activity.get(durable);
    if (known && known.lastMs === lastMs) return known.atMs;
    const agoMs = known ? 0 : Math.max(0, Date.now() - (lastMs ?? -Infinity));
    const atMs = performance.now() - agoMs;
    this.activity.set(durable, { lastMs, atMs });
    return atMs;
  }
}

function viewOf({ stream, durable }: DurableName, info: ConsumerInfo | undefined): SilentConsumer {
  const lastMs = info && lastActiveMs(info);
  return {
    consumer: durable,
    stream,
    waiting: info?.num_pending ?? 0,
    unsettled: info?.num_ack_pending ?? 0,
    last_active_at: lastMs === undefined ? null : new Date(lastMs).toISOString(),
  };
}

function lastActiveMs({ delivered, ack_floor }: ConsumerInfo): number | undefined {
  // The client declares a number, but the server sends a text such as 2026-11-19T08:00:00.123456789Z, or nothing.
  const times = [delivered, ack_floor].map(({ last_active }) => Date.parse(String(last_active)));
  const known = times.filter((ms) => !Number.isNaN(ms));
  return known.length > 0 ? Math.max(...known) : undefined;
}

const isMissing = (error: unknown) =>
  error instanceof JetStreamApiError &&
  (error.code === JetStreamApiCodes.ConsumerNotFound || error.code === JetStreamApiCodes.StreamNotFound);

let latest: () => Promise<readonly ConsumerState[] | undefined> = () => Promise.resolve(undefined);
const reading = new OneAtATime<void>();
const readAll = () => reading.run('consumers', readStates);

const silent = new Gauge({
  name: 'event_bus_consumer_silent',
  help: '1 if no worker pulls from the durable consumer',
  labelNames: ['durable'],
  collect: readAll,
});
const waiting = new Gauge({
  name: 'event_bus_consumer_waiting',
  help: 'Messages in the stream that were not delivered to the durable consumer yet',
  labelNames: ['durable'],
  collect: readAll,
});

async function readStates(): Promise<void> {
  // Absent while NATS is away: an old number would look like a new one.
  const states = (await latest()) ?? [];
  silent.reset();
  waiting.reset();
  for (const { durable, isSilent: nobodyPulls, view } of states) {
    silent.set({ durable }, Number(nobodyPulls));
    waiting.set({ durable }, view.waiting);
  }
}

/** Shows these consumers in the metrics. Both the api and the workers show them, so that a scrape remains if all workers have died. */
export function observeConsumers(
  states: ConsumerStates,
  durables: readonly DurableName[],
  logger: Logger,
): void {
  latest = () =>
    states.statesOf(durables).catch((err: unknown) => {
      logger.warn({ err }, 'the NATS consumers cannot be read');
      return undefined;
    });
}

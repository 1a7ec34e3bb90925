import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { type Logger } from '../logging/logger.js';
import { LOGGER } from '../process/surroundings.module.js';
import { Clock } from './clock.js';

const SAMPLE_MS = 15_000;
/** A larger difference is logged and is a warning in the readiness answer. Nothing that decides depends on this process's clock alone. */
const WARN_SECONDS = 2;

const differences = new Gauge({
  name: 'clock_difference_seconds',
  help: "The server's clock minus this process's, at least; a vendor's by its last answer to this process. Absent until it is known",
  labelNames: ['server'],
});

/** Another clock minus this process's: from `leastMs` to `mostMs`, since the answer took time. */
export interface ClockRange {
  readonly leastMs: number;
  readonly mostMs: number;
}

/** Undefined if the difference is not known. Throws if the server does not answer. */
type ReadDifference = () => Promise<ClockRange | undefined> | ClockRange | undefined;

/** Asks a server for its time. The difference is as exact as the answer is quick. */
export async function differenceOf(askTimeMs: () => Promise<number>, clock: Clock): Promise<ClockRange> {
  const askedAtMs = clock.nowMs();
  const timeMs = await askTimeMs();
  return { leastMs: timeMs - clock.nowMs(), mostMs: timeMs - askedAtMs };
}

/** The least difference that explains the range, in seconds with one decimal: negative if the other clock is behind. */
export function secondsAtLeast({ leastMs, mostMs }: ClockRange): number {
  const ms = leastMs > 0 ? leastMs : Math.min(mostMs, 0);
  return Math.round(ms / 100) / 10;
}

/**
 * The clocks of the servers and vendors, compared with this process's every 15 s. A difference above 2 s is logged once, and a second time
 * when it has gone.
 *
 * A difference does not show which clock is wrong. If all clocks differ by the same time, the clock of this process is wrong.
 */
@Injectable()
export class ClockDifferences implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly clocks = new Map<string, ReadDifference>();
  private readonly reading = new Set<string>();
  private readonly known = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Compares with a server that tells its time when it is asked. */
  watchServer(server: string, askTimeMs: () => Promise<number>): void {
    this.watch(server, () => differenceOf(askTimeMs, this.clock));
  }

  watch(server: string, read: ReadDifference): void {
    this.clocks.set(server, read);
  }

  /** The differences in seconds, of the servers whose clocks are known. */
  all(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.known);
  }

  /** A sentence if a clock differs by more than 2 s. */
  warning(): string | undefined {
    const far = [...this.known].filter(([, seconds]) => isFar(seconds));
    if (far.length === 0) return undefined;
    return `Compared with this process's clock, ${far.map(([server, seconds]) => sentenceOf(server, seconds)).join(', ')}`;
  }

  onApplicationBootstrap(): void {
    void this.readAll();
    this.timer = setInterval(() => void this.readAll(), SAMPLE_MS);
    this.timer.unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  async readAll(): Promise<void> {
    await Promise.all([...this.clocks].map(([server, read]) => this.read(server, read)));
  }

  private async read(server: string, read: ReadDifference): Promise<void> {
    // A frozen server is not asked again before it has answered.
    if (this.reading.has(server)) return;
    this.reading.add(server);
    try {
      const range = await read();
      if (range) this.note(server, secondsAtLeast(range));
    } catch (err) {
      this.logger.debug({ err, server }, 'the clock of a server could not be read');
      this.known.delete(server);
      differences.remove({ server });
    } finally {
      this.reading.delete(server);
    }
  }

  private note(server: string, seconds: number): void {
    const wasFar = isFar(this.known.get(server) ?? 0);
    this.known.set(server, seconds);
    differences.set({ server }, seconds);
    if (isFar(seconds) === wasFar) return;
    if (wasFar) this.logger.info({ server, seconds }, "a server's clock agrees with this process's again");
    else this.logger.warn({ server, seconds }, "a server's clock differs from this process's");
  }
}

const isFar = (seconds: number) => Math.abs(seconds) > WARN_SECONDS;

const sentenceOf = (server: string, seconds: number) =>
  `${server} is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead' : 'behind'}`;

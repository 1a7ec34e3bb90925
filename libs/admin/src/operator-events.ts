import { type ServerResponse } from 'node:http';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { dependencyFailure, DependencyUnavailable, LOGGER, type Logger, Loop } from '#platform';
import { ChangeFeed, ChangeTail, observeReaders, type Place, Places } from '#push';
import { Observability } from './observability.js';
import { OperatorStream } from './operator-stream.js';

const MOST_STREAMS = 100;
const PASS_MS = 500;
const PAUSE_WITHOUT_OPERATORS_MS = 60_000;
const CHECK_MS = 2_000;
const OVERVIEW_MS = 2_000;
// Each athlete with a backfill makes the overview some 230 characters longer, for each operator. With 1,000 athletes, the most that it
// has, it is read every ten seconds.
const OVERVIEW_PER_ATHLETE_MS = 8;
const PING_MS = 15_000;
// If a pass has more changes, they become one event: a console reads its lists again anyway, and an import makes hundreds of changes a second.
const MOST_CHANGES = 5;

const eventOf = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const MANY = eventOf('changes', { many: true });

/** The end of a window that no request has begun moves with each read. This difference alone causes no event. */
function withoutMovingEnds(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('resets_at' in value)) return value;
  return 'used' in value && value.used === 0 ? { ...value, resets_at: null } : value;
}

type Overview = Awaited<ReturnType<Observability['read']>>;

interface StreamOptions {
  /** The subject of the operator's token. */
  readonly operator: string;
  /** Rejects once the operator's token or session has ended: the stream then ends within two seconds. */
  readonly assertAllowed: () => Promise<void>;
}

/**
 * Tells operators what changes, as server-sent events: names of changes of all athletes, and the overview. One loop of the process serves all
 * operators, twice a second, and does nothing without operators. It reads the overview every two seconds, or less often if the overview is long.
 * While a server that the overview needs is away, the event `unavailable` names the server. The next overview says that it is back.
 *
 * Not guaranteed: every change. A client that connects again, or gets `changes`, must read again all that it shows.
 */
@Injectable()
export class OperatorEvents implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly places = new Places(MOST_STREAMS);
  private readonly streams = new Set<OperatorStream>();
  private readonly loop: Loop;
  private stopListening: (() => void) | undefined;
  private hasChanges = false;
  private toldUpTo: Place | undefined;
  /** The newest overview as an event, or the event that there is none. */
  private state: string | undefined;
  private shownOverview: string | undefined;
  private overviewAtMs = 0;
  private checkAtMs = 0;
  private pingAtMs = 0;
  private isStopping = false;

  constructor(
    private readonly feed: ChangeFeed,
    private readonly tail: ChangeTail,
    private readonly observability: Observability,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    observeReaders('operator', this.places);
    this.loop = new Loop('operator events', () => this.pass(), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    for (const stream of this.streams) stream.end();
    await this.loop.stop();
  }

  /** Takes a place. Then calls `begin`, which returns the response to write to. Throws TooManyReaders. */
  open({ operator, assertAllowed }: StreamOptions, begin: () => ServerResponse): void {
    const leave = this.places.take({ name: operator });
    const to = begin();
    // A client that has left emits no further `close`; a HEAD request has no body.
    if (to.destroyed || to.writableEnded) return leave();
    const stream = new OperatorStream(to, assertAllowed, MANY);
    this.streams.add(stream);
    to.once('close', () => {
      leave();
      this.streams.delete(stream);
    });
    to.on('error', (err) => this.logger.debug({ err }, 'a stream of operator events broke'));
    if (this.isStopping) stream.end();
    else this.loop.wake();
  }

  private async pass(): Promise<number> {
    if (this.streams.size === 0) {
      this.rest();
      return PAUSE_WITHOUT_OPERATORS_MS;
    }
    this.stopListening ??= this.tail.listen({
      athleteId: undefined,
      types: undefined,
      wake: () => (this.hasChanges = true),
    });
    const nowMs = performance.now();
    if (nowMs >= this.pingAtMs) this.ping(nowMs);
    if (nowMs >= this.checkAtMs) {
      this.checkAtMs = nowMs + CHECK_MS;
      await this.endForbidden();
    }
    if (nowMs >= this.overviewAtMs) await this.readOverview(nowMs);
    const changes = await this.newChanges();
    for (const stream of this.streams) stream.send({ changes, state: this.state });
    return PASS_MS;
  }

  private async readOverview(nowMs: number): Promise<void> {
    // Set first, so that after a failure the next reading waits as well.
    this.overviewAtMs = nowMs + OVERVIEW_MS;
    try {
      const overview = await this.observability.read();
      this.overviewAtMs += overview.backfill.length * OVERVIEW_PER_ATHLETE_MS;
      this.remember(overview);
    } catch (error) {
      const err = dependencyFailure(error);
      if (!(err instanceof DependencyUnavailable)) throw error;
      this.logger.debug({ err }, 'no overview for operators');
      this.shownOverview = undefined;
      this.state = eventOf('unavailable', { server: err.dependency });
    }
  }

  private remember(view: Overview): void {
    const shown = JSON.stringify(view, withoutMovingEnds);
    if (shown === this.shownOverview) return;
    this.shownOverview = shown;
    this.state = eventOf('overview', view);
  }

  /** Forgets the state, so that the next operator gets a new overview and no earlier changes. */
  private rest(): void {
    this.stopListening?.();
    this.stopListening = undefined;
    this.toldUpTo = undefined;
    this.state = undefined;
    this.shownOverview = undefined;
    this.overviewAtMs = 0;
  }

  private ping(nowMs: number): void {
    this.pingAtMs = nowMs + PING_MS;
    for (const stream of this.streams) stream.ping();
  }

  private async endForbidden(): Promise<void> {
    const check = async (stream: OperatorStream) => {
      try {
        await stream.assertAllowed();
      } catch (err) {
        // While a server is away, nothing is known about the token. Without the server, there is also nothing to send.
        if (err instanceof DependencyUnavailable) return;
        this.logger.debug({ err }, 'a stream of operator events ended');
        stream.end();
      }
    };
    await Promise.all([...this.streams].map(check));
  }

  private async newChanges(): Promise<string> {
    const { place } = this.tail;
    const from = this.toldUpTo;
    if (!place || (from && !this.hasChanges)) return '';
    this.hasChanges = false;
    this.toldUpTo = place;
    // The first pass, or the log of a restored database: nothing is known about the changes before.
    if (!from) return '';
    if (place.seq < from.seq) return MANY;
    const found = await this.feed.names(from, place, MOST_CHANGES + 1);
    if (found.length > MOST_CHANGES) return MANY;
    return found.map((change) => eventOf('change', change)).join('');
  }
}

import { type Logger } from '#platform';
import { type Coalescer, causeOf, type SessionGate } from '#reliability';
import { type Broker, refused, type Resolution } from '../broker/broker.js';
import { type Viewer } from './viewer.js';

/** All of it, the gate's and the broker's part: the next second belongs to the edge, which says 503, and TVs make nothing of that. */
export const TOTAL_MS = 4_000;

const POOL = 'playback';

/** A place first, then what is wanted, once for all who want the same at the same time. */
export class StreamDesk {
  constructor(
    private readonly gate: SessionGate,
    private readonly coalescer: Coalescer,
    private readonly broker: Broker,
    private readonly logger: Logger,
  ) {}

  /** Rejects only where the signal has ended it: nobody waits for an answer any more. */
  async resolve(viewer: Viewer, episode: string, gone?: AbortSignal): Promise<Resolution> {
    const endsAtMs = performance.now() + TOTAL_MS;
    try {
      const admission = await this.gate.admit(POOL, viewer.key, gone);
      if (admission.kind === 'busy') return refused('capacity_busy');
      const wish = { scope: POOL, client: viewer.key, intent: episode, supersedes: true, signal: gone };
      return await this.coalescer.share({ ...wish, deadlineMs: endsAtMs - performance.now() }, (signal) =>
        this.broker.resolve(viewer.name, episode, signal),
      );
    } catch (error) {
      if (gone?.aborted) throw error;
      return this.giveUp(error);
    }
  }

  private giveUp(error: unknown): Resolution {
    const cause = causeOf(error);
    // The others are known, and counted; this may be anything.
    if (cause === 'broker_error') this.logger.error({ err: error }, 'a video could not be resolved');
    return refused(cause);
  }
}

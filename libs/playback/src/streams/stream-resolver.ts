import { type Logger } from '#platform';
import { type Cause, type Coalescer, causeOf, type SessionGate, untilAborted, within } from '#reliability';
import { type Broker, refused, type Resolution } from '../broker/broker.js';
import { type CatalogueCache } from '../catalogue/catalogue-cache.js';
import { type Viewer } from './viewer.js';

/** Limit for catalogue, gate and broker together. 0.7 s later the edge would answer 503 (`OWN_DEADLINE`), which TVs cannot show. */
export const TOTAL_MS = 4_000;

export const POOL = 'playback';

// With these causes the broker has nothing to play, so the viewer's place is released.
const NOTHING_TO_PLAY: readonly Cause[] = ['not_found', 'policy_blocked'];

/**
 * Checks the episode, takes a place at the gate, then gets the sources from the broker, in at most 4 s. Equal requests of a
 * viewer at the same time share one call, and a request for another episode replaces the earlier request. The place is
 * released if there is nothing to play. After any other failure the viewer keeps the place until the session is idle.
 */
export class StreamResolver {
  constructor(
    private readonly catalogue: Pick<CatalogueCache, 'hasEpisode'>,
    private readonly gate: SessionGate,
    private readonly coalescer: Coalescer,
    private readonly broker: Broker,
    private readonly logger: Logger,
    private readonly totalMs = TOTAL_MS,
  ) {}

  /** Rejects only if the signal was aborted, since the client has left then. */
  async resolve(viewer: Viewer, episode: string, signal?: AbortSignal): Promise<Resolution> {
    const endsAtMs = performance.now() + this.totalMs;
    try {
      // Catalogue, gate and broker have limits of their own, but together they may take longer than 4 s.
      return await within(this.totalMs, signal, POOL, (inTime) =>
        untilAborted(this.resolveBefore(endsAtMs, viewer, episode, inTime), inTime),
      );
    } catch (error) {
      if (signal?.aborted) throw error;
      return this.refusalOf(error);
    }
  }

  private async resolveBefore(
    endsAtMs: number,
    { key, name, network }: Viewer,
    episode: string,
    signal: AbortSignal,
  ): Promise<Resolution> {
    const isKnown = await this.catalogue.hasEpisode(episode);
    if (isKnown !== true) return isKnown || refused('not_found');
    const admission = await this.gate.admit(POOL, key, { address: network, signal });
    if (admission.kind === 'busy') return refused('capacity_busy');
    const request = { scope: POOL, client: key, intent: episode, supersedes: true, signal };
    const deadlineMs = endsAtMs - performance.now();
    const resolution = await this.coalescer.share({ ...request, deadlineMs }, (shared) =>
      this.broker.resolve(name, episode, shared),
    );
    if (resolution.kind === 'refused' && NOTHING_TO_PLAY.includes(resolution.cause))
      await this.releasePlace(key);
    return resolution;
  }

  private async releasePlace(session: string): Promise<void> {
    try {
      await this.gate.giveBack(POOL, session);
    } catch (err) {
      // The answer does not depend on the release: the place is released at the latest when the session is idle.
      this.logger.warn({ err }, 'session place not released; it is released when the session is idle');
    }
  }

  private refusalOf(error: unknown): Resolution {
    const cause = causeOf(error);
    // `broker_error` may come from an unexpected error. The other causes are expected and counted.
    if (cause === 'broker_error') this.logger.error({ err: error }, 'a video could not be resolved');
    return refused(cause);
  }
}

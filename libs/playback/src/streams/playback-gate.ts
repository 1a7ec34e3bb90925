import { Injectable } from '@nestjs/common';
import { DecisionLog, type MinuteOfDecisions, SessionGate } from '#reliability';
import { POOL } from './stream-resolver.js';

// More sessions than these would not fit on a page.
const MOST_SESSIONS = 100;

interface GateView {
  readonly capacity: number;
  readonly places_used: number;
  readonly waiting: number;
  /** At most 100, latest heartbeat first. */
  readonly sessions: ReadonlyArray<{
    readonly since: Date;
    readonly seen_at: Date;
    readonly is_idle: boolean;
  }>;
  readonly decisions_last_hour: readonly MinuteOfDecisions[];
}

/** The playback gate as operators see it, over all replicas and without names or addresses. Throws DependencyUnavailable without Redis. */
@Injectable()
export class PlaybackGate {
  constructor(
    private readonly gate: SessionGate,
    private readonly log: DecisionLog,
  ) {}

  async read(): Promise<GateView> {
    const [{ capacity, used, waiting, places }, decisions_last_hour] = await Promise.all([
      this.gate.places(POOL, MOST_SESSIONS),
      this.log.lastHour(),
    ]);
    const nowMs = Date.now();
    return {
      capacity,
      places_used: used,
      waiting,
      sessions: places.map(({ heldMs, silentMs, isIdle }) => ({
        since: new Date(nowMs - heldMs),
        seen_at: new Date(nowMs - silentMs),
        is_idle: isIdle,
      })),
      decisions_last_hour,
    };
  }
}

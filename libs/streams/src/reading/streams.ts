import { Injectable } from '@nestjs/common';
import { NotFound } from '#platform';
import { type StreamAnswer } from './answer.js';
import { Bodies } from './bodies.js';
import { type Cut } from './cut.js';
import { type StreamHead, Heads } from './heads.js';
import { PromptFetch } from './prompt-fetch.js';

interface StreamQuery {
  readonly athleteId: string;
  readonly activityId: string;
  readonly cut: Cut;
  /** Versions of this cut that the reader has; `*` matches every version. */
  readonly knownVersions: readonly string[];
  /** Aborted when the reader has left or was answered with a timeout. */
  readonly signal?: AbortSignal | undefined;
  /** How long the reader waits for a fetch that is pending or under way. */
  readonly waitMs: number;
}

export type StreamResult =
  | { readonly kind: 'notStored'; readonly answer: StreamAnswer }
  | { readonly kind: 'unchanged'; readonly version: string }
  /** `bytes` are gzipped. */
  | { readonly kind: 'stored'; readonly version: string; readonly bytes: Buffer };

/**
 * Reads an activity's streams for its athlete: the stored bytes, "unchanged", or the state of the fetch if nothing is stored.
 * Throws NotFound for another athlete's activity. With `waitMs` a pending fetch begins now. If the fetch takes longer
 * than `waitMs`, the answer has the old streams or no streams.
 */
@Injectable()
export class Streams {
  constructor(
    private readonly heads: Heads,
    private readonly bodies: Bodies,
    private readonly prompt: PromptFetch,
  ) {}

  async read(query: StreamQuery): Promise<StreamResult> {
    const head = await this.headOf(query);
    const { athleteId, activityId: id, waitMs } = query;
    if (!isWorthWaiting(head, waitMs)) return this.answer(query, head);
    const { source: provider, external_activity_id: externalActivityId } = head;
    const target = { id, athleteId, provider, externalActivityId };
    await this.prompt.fetchOrWait(target, head.fetch_status, waitMs);
    return this.answer(query, await this.headOf(query));
  }

  private async headOf({ athleteId, activityId }: StreamQuery): Promise<StreamHead> {
    const head = await this.heads.find(athleteId, activityId);
    if (!head) throw new NotFound('No such activity');
    return head;
  }

  private async answer(query: StreamQuery, head: StreamHead): Promise<StreamResult> {
    const { version } = head;
    const { athleteId, activityId, knownVersions } = query;
    if (version === null) return { kind: 'notStored', answer: withoutStreams(activityId, head) };
    if (knownVersions.includes(version) || knownVersions.includes('*')) return { kind: 'unchanged', version };
    const bytes = await this.bodies.find({ athleteId, activityId, version }, query);
    // The version was replaced after its head was read.
    if (!bytes) return this.read({ ...query, waitMs: 0 });
    return { kind: 'stored', version, bytes };
  }
}

function isWorthWaiting(
  head: StreamHead,
  waitMs: number,
): head is StreamHead & { external_activity_id: string } {
  const mayChange = head.fetch_status === 'pending' || head.fetch_status === 'fetching';
  return mayChange && waitMs > 0 && head.external_activity_id !== null;
}

function withoutStreams(activityId: string, { status, source, error, retry_at }: StreamHead): StreamAnswer {
  return {
    activity_id: activityId,
    status,
    stream_data: null,
    channels_available: [],
    point_count: 0,
    source,
    fetched_at: null,
    error,
    retry_at: retry_at?.toISOString() ?? null,
  };
}

import { Injectable } from '@nestjs/common';
import { NotFound } from '#platform';
import { type StreamAnswer } from './answer.js';
import { Bodies } from './bodies.js';
import { type Cut } from './cut.js';
import { type Head, Heads } from './heads.js';
import { PromptFetch } from './prompt-fetch.js';

export interface Question {
  readonly athleteId: string;
  readonly activityId: string;
  readonly cut: Cut;
  /** Versions the reader has of that cut; `*`: any. */
  readonly has: readonly string[];
  /** How long the reader would wait for streams that are not there yet. */
  readonly waitMs: number;
}

export type Reading =
  | { readonly kind: 'without'; readonly answer: StreamAnswer }
  | { readonly kind: 'unchanged'; readonly version: string }
  /** Gzipped. */
  | { readonly kind: 'stored'; readonly version: string; readonly bytes: Buffer };

/** What a reader gets: the bytes that were made when the streams were stored, or an honest word why there are none. */
@Injectable()
export class Streams {
  constructor(
    private readonly heads: Heads,
    private readonly bodies: Bodies,
    private readonly prompt: PromptFetch,
  ) {}

  async read(question: Question): Promise<Reading> {
    const head = await this.find(question);
    const { athleteId, activityId: id, waitMs } = question;
    if (!isWorthWaiting(head, waitMs)) return this.show(question, head);
    const target = { id, athleteId, externalActivityId: head.external_activity_id };
    await this.prompt.within(target, head.status, waitMs);
    return this.show(question, await this.find(question));
  }

  private async find({ athleteId, activityId }: Question): Promise<Head> {
    const head = await this.heads.find(athleteId, activityId);
    if (!head) throw new NotFound('No such activity');
    return head;
  }

  private async show(question: Question, head: Head): Promise<Reading> {
    const { version } = head;
    const { activityId, cut, has } = question;
    if (version === null) return { kind: 'without', answer: withoutStreams(activityId, head) };
    if (has.includes(version) || has.includes('*')) return { kind: 'unchanged', version };
    const bytes = await this.bodies.find(activityId, version, cut);
    // Replaced since it was asked which is current.
    if (!bytes) return this.read({ ...question, waitMs: 0 });
    return { kind: 'stored', version, bytes };
  }
}

function isWorthWaiting(head: Head, waitMs: number): head is Head & { external_activity_id: string } {
  const mayChange = head.status === 'pending' || head.status === 'fetching';
  return mayChange && waitMs > 0 && head.external_activity_id !== null;
}

function withoutStreams(activityId: string, { status, source, error, retry_at }: Head): StreamAnswer {
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

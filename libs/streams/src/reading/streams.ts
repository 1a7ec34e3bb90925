import { Inject, Injectable } from '@nestjs/common';
import { Database, loadSql, NotFound, TIME_SCALE, type TimeScale } from '#platform';
import { type FetchStatus } from '../lifecycle/fetch-state.js';
import { patienceAt } from '../lifecycle/retry-policy.js';
import { narrow, type StreamAnswer } from './answer.js';
import { type Body, BodyCache } from './body-cache.js';
import { type Cut, cutName } from './cut.js';
import { PromptFetch } from './prompt-fetch.js';

const findStream = loadSql(import.meta.url, './sql/find-stream.sql');

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
  | ({ readonly kind: 'stored' } & Body);

interface Row {
  readonly external_activity_id: string | null;
  readonly source: string;
  readonly status: FetchStatus;
  readonly error: string | null;
  readonly retry_at: Date | null;
  readonly version: string | null;
  readonly body: string | null;
}

/** What a reader gets: the bytes that were made when the streams were stored, or an honest word why there are none. */
@Injectable()
export class Streams {
  private readonly bodies = new BodyCache();
  private readonly patience: ReturnType<typeof patienceAt>;

  constructor(
    private readonly database: Database,
    private readonly prompt: PromptFetch,
    @Inject(TIME_SCALE) scale: TimeScale,
  ) {
    this.patience = patienceAt(scale);
  }

  async read(question: Question): Promise<Reading> {
    const row = await this.find(question);
    if (!isWorthWaiting(row, question.waitMs)) return this.show(question, row);
    const { athleteId, activityId: id, waitMs } = question;
    const target = { id, athleteId, externalActivityId: row.external_activity_id };
    await this.prompt.within(target, row.status, waitMs);
    return this.show(question, await this.find(question));
  }

  /** Asks whose it is and which version is current, every time; the bytes only where nobody has them. */
  private async find({ athleteId, activityId, cut, has }: Question): Promise<Row> {
    const known = [this.bodies.get(keyOf(activityId, cut)), this.bodies.get(activityId)];
    const versions = [...has, ...known.flatMap((body) => body?.version ?? [])];
    const values = [activityId, athleteId, versions, ...this.patience];
    const { rows } = await this.database.query<Row>(findStream, values);
    if (!rows[0]) throw new NotFound('No such activity');
    return rows[0];
  }

  private async show(question: Question, row: Row): Promise<Reading> {
    const { version, status, source, error, retry_at } = row;
    const { activityId, cut, has } = question;
    if (version === null) {
      const answer = {
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
      return { kind: 'without', answer };
    }
    if (has.includes(version) || has.includes('*')) return { kind: 'unchanged', version };
    const ready = this.bodies.get(keyOf(activityId, cut));
    if (ready?.version === version) return { kind: 'stored', ...ready };
    const whole = this.wholeOf(activityId, version, row.body);
    // Gone from memory since the database was asked, for others' sake: once more, now as one who has nothing.
    if (!whole) return this.read(question);
    if (cutName(cut) === '') return { kind: 'stored', ...whole };
    const part = { version, bytes: await narrow(whole.bytes, cut) };
    this.bodies.set(keyOf(activityId, cut), part);
    return { kind: 'stored', ...part };
  }

  private wholeOf(activityId: string, version: string, sent: string | null): Body | undefined {
    if (sent === null) {
      const kept = this.bodies.get(activityId);
      return kept?.version === version ? kept : undefined;
    }
    const whole = { version, bytes: Buffer.from(sent, 'base64') };
    this.bodies.set(activityId, whole);
    return whole;
  }
}

function keyOf(activityId: string, cut: Cut): string {
  const name = cutName(cut);
  return name === '' ? activityId : `${activityId} ${name}`;
}

function isWorthWaiting(row: Row, waitMs: number): row is Row & { external_activity_id: string } {
  const mayChange = row.status === 'pending' || row.status === 'fetching';
  return mayChange && waitMs > 0 && row.external_activity_id !== null;
}

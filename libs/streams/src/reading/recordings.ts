import { Inject, Injectable } from '@nestjs/common';
import { Database, loadSql, TIME_SCALE, type TimeScale } from '#platform';
import { type FetchStatus } from '../lifecycle/stream-fetches.js';
import { retryArguments } from '../lifecycle/retry-policy.js';

const findRecording = loadSql(import.meta.url, './sql/find-recording.sql');

/** An activity's stored streams and the state of their fetch. */
export interface StoredRecording {
  readonly status: FetchStatus;
  readonly error: string | null;
  /** True if an attempt is under way or will follow. False: the streams are fetched again only after an operator's reset. */
  readonly isComing: boolean;
  /** The answer that clients read, as gzipped JSON; undefined if nothing is stored. */
  readonly body: Buffer | undefined;
}

/** Stored streams for processors. Any activity may be read: the caller checks the athlete. */
@Injectable()
export class Recordings {
  constructor(
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  /** Undefined if there is no such activity. */
  async find(activityId: string): Promise<StoredRecording | undefined> {
    type Row = { status: FetchStatus; error: string | null; is_coming: boolean; body: string | null };
    const { rows } = await this.database.query<Row>(findRecording, [
      activityId,
      ...retryArguments(this.scale),
    ]);
    if (!rows[0]) return undefined;
    const { status, error, is_coming: isComing, body } = rows[0];
    return { status, error, isComing, body: body === null ? undefined : Buffer.from(body, 'base64') };
  }
}

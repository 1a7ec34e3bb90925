import { Injectable } from '@nestjs/common';
import { Database, loadSql } from '#platform';
import { type FetchStatus } from '../lifecycle/fetch-state.js';

const findRecording = loadSql(import.meta.url, './sql/find-recording.sql');

/** What there is of an activity's streams, for those who compute with them. */
export interface StoredRecording {
  readonly status: FetchStatus;
  readonly error: string | null;
  /** The answer a client would read, as gzipped JSON; nothing where nothing is stored. */
  readonly body: Buffer | undefined;
}

@Injectable()
export class Recordings {
  constructor(private readonly database: Database) {}

  /** Nothing where there is no such activity. */
  async find(activityId: string): Promise<StoredRecording | undefined> {
    type Row = { status: FetchStatus; error: string | null; body: string | null };
    const { rows } = await this.database.query<Row>(findRecording, [activityId]);
    if (!rows[0]) return undefined;
    const { status, error, body } = rows[0];
    return { status, error, body: body === null ? undefined : Buffer.from(body, 'base64') };
  }
}

import { Injectable } from '@nestjs/common';
import { Database, loadSql } from '#platform';

const snapshotConfig = loadSql(import.meta.url, './sql/snapshot-config.sql');
// Two who begin at the same moment with the same settings are one change.
const LOCK = 'select pg_advisory_xact_lock(hashtextextended($1, 7263010))';

export interface ConfigSnapshot {
  readonly snapshot_id: number;
  readonly source: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly created_at: Date;
}

export interface SnapshotPage {
  readonly items: readonly ConfigSnapshot[];
  readonly next_cursor: string | null;
}

/** Which settings were in force when, for those who look back. Never hand it a secret. */
@Injectable()
export class ConfigSnapshots {
  constructor(private readonly database: Database) {}

  /** Answers whether they differ from the last ones of this source, and so were kept. */
  take(source: string, settings: Readonly<Record<string, unknown>>): Promise<boolean> {
    return this.database.transaction(async (sql) => {
      await sql.query(LOCK, [source]);
      const { count } = await sql.query(snapshotConfig, [source, JSON.stringify(settings)]);
      return count > 0;
    });
  }

  /** The newest first; `before`: the cursor of the page before. */
  async list(before: number | undefined, limit: number): Promise<SnapshotPage> {
    const { rows } = await this.database.query<ConfigSnapshot>(
      `select snapshot_id::float8 as snapshot_id, source, payload_json as payload, created_at_utc as created_at
       from config_snapshots
       where $1::bigint is null or snapshot_id < $1
       order by snapshot_id desc
       limit $2`,
      [before ?? null, limit + 1],
    );
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return { items, next_cursor: rows.length > limit && last ? String(last.snapshot_id) : null };
  }
}

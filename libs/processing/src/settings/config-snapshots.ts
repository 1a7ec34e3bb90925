import { Injectable } from '@nestjs/common';
import { Database, deletePast, loadSql } from '#platform';

const snapshotConfig = loadSql(import.meta.url, './sql/snapshot-config.sql');
const listSnapshots = loadSql(import.meta.url, './sql/list-snapshots.sql');
const purgeSnapshots = loadSql(import.meta.url, './sql/purge-snapshots.sql');
// Serializes workers that start at the same moment, so that the same settings are recorded once.
const LOCK = 'select pg_advisory_xact_lock(hashtextextended($1, 7263010))';

interface ConfigSnapshot {
  readonly snapshot_id: number;
  readonly source: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly created_at: Date;
}

interface SnapshotPage {
  readonly items: readonly ConfigSnapshot[];
  readonly next_cursor: string | null;
}

/** Records changes of the settings, with their time, for operators. Never pass a secret: operators can read the snapshots. */
@Injectable()
export class ConfigSnapshots {
  constructor(private readonly database: Database) {}

  /** Records the settings if they differ from the last settings of this source. Returns true if they were recorded. */
  take(source: string, settings: Readonly<Record<string, unknown>>): Promise<boolean> {
    return this.database.transaction(async (sql) => {
      await sql.query(LOCK, [source]);
      const { count } = await sql.query(snapshotConfig, [source, JSON.stringify(settings)]);
      return count > 0;
    });
  }

  /** Deletes snapshots older than `keptMs` and returns their number. The newest snapshot of each source is kept. */
  purge(keptMs: number): Promise<number> {
    return deletePast(this.database, purgeSnapshots, keptMs);
  }

  /** Newest first; `before`: the `next_cursor` of the previous page. */
  async list(before: number | undefined, limit: number): Promise<SnapshotPage> {
    const { rows } = await this.database.query<ConfigSnapshot>(listSnapshots, [before ?? null, limit + 1]);
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return { items, next_cursor: rows.length > limit && last ? String(last.snapshot_id) : null };
  }
}

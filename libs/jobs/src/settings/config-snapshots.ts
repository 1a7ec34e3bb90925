import { Injectable } from '@nestjs/common';
import { Database, loadSql } from '#platform';

const snapshotConfig = loadSql(import.meta.url, './sql/snapshot-config.sql');
// Two who begin at the same moment with the same settings are one change.
const LOCK = 'select pg_advisory_xact_lock(hashtextextended($1, 7263010))';

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
}

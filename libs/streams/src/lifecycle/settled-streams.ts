import { Injectable } from '@nestjs/common';
import { loadSql, type Sql } from '#platform';

const findSettled = loadSql(import.meta.url, './sql/find-settled.sql');

/**
 * Finds activities that a processor may begin with: their streams are stored, or the vendor has none. The rows stay locked until
 * the caller's transaction ends, so two workers never get the same activity.
 */
@Injectable()
export class SettledStreams {
  async find(
    sql: Sql,
    most: number,
  ): Promise<ReadonlyArray<{ readonly id: string; readonly athlete_id: string }>> {
    const { rows } = await sql.query<{ id: string; athlete_id: string }>(findSettled, [most]);
    return rows;
  }
}

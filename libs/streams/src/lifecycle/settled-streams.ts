import { Injectable } from '@nestjs/common';
import { loadSql, type Sql } from '#platform';

const findSettled = loadSql(import.meta.url, './sql/find-settled.sql');

/** Activities whose streams are here, or will never be: whoever looks at recordings may begin with them. */
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

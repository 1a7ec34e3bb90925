import { Injectable } from '@nestjs/common';
import { Database } from '#platform';

/** The export of the athlete's sessions, never with their secrets. The rows are deleted with the athlete's row. */
@Injectable()
export class SessionRecords {
  readonly name = 'sessions';
  readonly provider = null;

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const statement = `
      select role, account, created_at, expires_at
      from session
      where athlete_id = $1
      order by created_at`;
    const { rows } = await this.database.query(statement, [athleteId]);
    if (rows.length > 0) yield rows;
  }
}

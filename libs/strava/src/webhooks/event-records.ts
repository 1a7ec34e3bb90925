import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '#platform';

/** What the account exports and deletes of ours: the events that Strava has sent about an athlete. */
@Injectable()
export class EventRecords {
  readonly name = 'webhook_events';
  readonly provider = 'strava';

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const { rows } = await this.database.query(
      `select raw, received_at, processed_at, outcome
       from webhook_event
       join connection on connection.provider = webhook_event.vendor and connection.vendor_athlete_id = owner_id
       where connection.athlete_id = $1
       order by webhook_event.id`,
      [athleteId],
    );
    if (rows.length > 0) yield rows;
  }

  /** They know the athlete by the vendor's id, which is cut off by now. */
  async deleteSome(
    sql: Sql,
    _athleteId: string,
    accounts: Readonly<Record<string, string>>,
  ): Promise<number> {
    const owner = ['strava', accounts.strava];
    // First the owner, for whom an event that is just coming in has to wait.
    await sql.query('select 1 from webhook_owner where vendor = $1 and owner_id = $2 for update', owner);
    const { count } = await sql.query('delete from webhook_event where vendor = $1 and owner_id = $2', owner);
    await sql.query('delete from webhook_owner where vendor = $1 and owner_id = $2', owner);
    return count;
  }
}

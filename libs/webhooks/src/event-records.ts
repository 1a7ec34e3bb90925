import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '#platform';

const BATCH = 1_000;

/** The export and deletion of the events that vendors have sent about an athlete. */
@Injectable()
export class EventRecords {
  readonly name = 'webhook_events';
  readonly provider = 'any';

  constructor(private readonly database: Database) {}

  async *read(athleteId: string): AsyncGenerator<readonly object[]> {
    const { rows } = await this.database.query(
      `select vendor, raw, received_at, processed_at, outcome
       from webhook_event
       join connection on connection.provider = webhook_event.vendor and connection.vendor_athlete_id = owner_id
       where connection.athlete_id = $1
       order by webhook_event.id`,
      [athleteId],
    );
    if (rows.length > 0) yield rows;
  }

  /** Deletes a batch by the accounts' ids at their vendors, since the connections that name the athlete are deleted by now. */
  async deleteSome(
    sql: Sql,
    _athleteId: string,
    accounts: Readonly<Record<string, string>>,
  ): Promise<number> {
    for (const [vendor, account] of Object.entries(accounts)) {
      const count = await deleteEventsOf(sql, vendor, account);
      if (count > 0) return count;
    }
    return 0;
  }
}

async function deleteEventsOf(sql: Sql, vendor: string, account: string): Promise<number> {
  const owner = [vendor, account];
  // Locks the owner, so that an event that is being received waits for this transaction.
  await sql.query('select 1 from webhook_owner where vendor = $1 and owner_id = $2 for update', owner);
  const statement = `
    delete from webhook_event
    where id = any(array(select id from webhook_event where vendor = $1 and owner_id = $2 limit $3))`;
  const { count } = await sql.query(statement, [...owner, BATCH]);
  if (count === 0) await sql.query('delete from webhook_owner where vendor = $1 and owner_id = $2', owner);
  return count;
}

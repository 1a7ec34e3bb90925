import { Injectable } from '@nestjs/common';
import { Database, pagesByBytes, type Sql } from '#platform';

const PAGE = 500;
const BATCH = 1_000;

/** The export and deletion of the events that vendors have sent about an athlete. */
@Injectable()
export class EventRecords {
  readonly name = 'webhook_events';
  readonly provider = 'any';

  constructor(private readonly database: Database) {}

  read(athleteId: string): AsyncIterable<readonly object[]> {
    // `id + 0`: the events are found by their owner. By `id`, Postgres might go through the events of all athletes.
    const statement = `
      select webhook_event.id, vendor, raw, received_at, processed_at, outcome, octet_length(raw) as bytes
      from webhook_event
      join connection on connection.provider = webhook_event.vendor and connection.vendor_athlete_id = owner_id
      where connection.athlete_id = $1 and ($2::bigint is null or webhook_event.id + 0 > $2)
      order by webhook_event.id + 0
      limit $3`;
    return pagesByBytes(this.database, statement, { athleteId, by: 'id', size: PAGE });
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

import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { prepared, type Sql } from '#platform';
import { ERASED } from '../change.js';

const AT_ONCE = 1_000;

// `connection.removed` and `athlete.deleted` tell the apps about the deletion. They have no data of the athlete but ids.
const ofAthlete = (table: string) => `${table}.athlete_id = $1 and ${table}.type <> 'athlete.deleted'`;
const ofVendor = (table: string) => `
  ${table}.athlete_id = $1
  and ${table}.type <> 'connection.removed'
  and (
    ${table}.data ->> 'provider' = $3
    or ${table}.data ->> 'vendor' = $3
    or (${table}.type like 'connection.%' and ${table}.subject_id = $3)
  )`;

const deleteWaiting = (name: string, condition: string) =>
  prepared(
    name,
    `
      with chosen as (
        select revision
        from change_outbox
        where ${condition}
        limit $2
      )
      delete from change_outbox using chosen where change_outbox.revision = chosen.revision`,
  );
const erase = (name: string, condition: string) =>
  prepared(
    name,
    `
      with chosen as (
        select seq
        from change
        where ${condition} and type <> '${ERASED}'
        order by seq
        limit $2
      )
      update change
      set type = '${ERASED}', subject_id = null, data = null
      from chosen
      where change.seq = chosen.seq`,
  );

const STATEMENTS = {
  account: [
    deleteWaiting('delete waiting changes', ofAthlete('change_outbox')),
    erase('erase changes', ofAthlete('change')),
  ],
  vendor: [
    deleteWaiting(
      'delete waiting changes of a vendor',
      // In the outbox, an activity is a row and not yet JSON.
      `${ofVendor('change_outbox')} or (athlete_id = $1 and (activity).provider = $3)`,
    ),
    erase('erase changes of a vendor', ofVendor('change')),
  ],
} as const;

/**
 * Deletes an athlete's changes. The rows of the log stay as places without content, because cursors of other readers point at them; they keep the
 * athlete's id until their messages are deleted from NATS (`ChangeRemains`). Exports leave the log out: it repeats other records.
 *
 * A deletion of one vendor's data keeps `activity.deleted` and `sleep.removed`. They name no vendor and have no data.
 */
@Injectable()
export class ChangeRecords {
  readonly name = 'changes';
  readonly provider = 'any';

  read(): AsyncIterable<readonly object[]> {
    return Readable.from([]);
  }

  /** The outbox comes first: a change that moves to the log meanwhile is found there. */
  async deleteSome(sql: Sql, athleteId: string, _: unknown, provider: string | null): Promise<number> {
    const values = provider === null ? [athleteId, AT_ONCE] : [athleteId, AT_ONCE, provider];
    let deleted = 0;
    for (const statement of STATEMENTS[provider === null ? 'account' : 'vendor'])
      deleted += (await sql.query(statement, values)).count;
    return deleted;
  }
}

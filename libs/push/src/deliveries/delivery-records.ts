import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { type Sql } from '#platform';
import { ERASED } from '../change.js';

const BATCH = 1_000;

// A deletion of the account ($3 is null) deletes all deliveries of the athlete. The delivery of `athlete.deleted` stays, since it has no
// athlete. A deletion of one vendor's data deletes the deliveries whose change was erased, so this runs after the deletion of the changes. If
// the log no longer has the change (CHANGES_RETENTION_DAYS below the 30 days of a delivery), the vendor is unknown, so the delivery is
// deleted, too. Locks the deliveries in the order of the log, as `write-attempts.sql` does.
const deleteOf = (condition: string) => `
  with chosen as (
    select delivery.endpoint_id, delivery.id
    from webhook_delivery delivery
    left join change using (seq)
    where delivery.athlete_id = $1
      and ($3::text is null or change.seq is null or change.type = '${ERASED}')
      and ${condition}
    order by seq, delivery.endpoint_id
    limit $2
    for update of delivery
  )
  delete from webhook_delivery
  using chosen
  where webhook_delivery.endpoint_id = chosen.endpoint_id
    and webhook_delivery.id = chosen.id`;

// The planner's statement may have read the changes before the deletion erased them, and then still make deliveries of them. This lock waits for
// the end of that statement, about 100 ms, and blocks the next one until the deletion's transaction ends.
const WITHOUT_PLANNER = 'lock table delivery_plan, webhook_replay in exclusive mode';

/** The deletion of one kind of delivery of an athlete's changes. An export leaves them out: they repeat other records. */
abstract class DeliveryRecords {
  readonly provider = 'any';
  protected abstract readonly statement: string;

  read(): AsyncIterable<readonly object[]> {
    return Readable.from([]);
  }

  async deleteSome(sql: Sql, athleteId: string, _: unknown, provider: string | null): Promise<number> {
    await sql.query(WITHOUT_PLANNER);
    return (await sql.query(this.statement, [athleteId, BATCH, provider])).count;
  }
}

/** Deliveries that their endpoints have not got, because they wait or were given up, with the endpoints' answers. */
@Injectable()
export class UnsentDeliveries extends DeliveryRecords {
  readonly name = 'webhook_deliveries_not_sent';
  protected readonly statement = deleteOf('delivered_at is null');
}

/**
 * Deliveries that endpoints have got, also if a repetition waits or has failed. The receipt counts them, because the copies of the app are
 * the app's to delete.
 */
@Injectable()
export class SentDeliveries extends DeliveryRecords {
  readonly name = 'webhook_deliveries_sent';
  protected readonly statement = deleteOf('delivered_at is not null');
}

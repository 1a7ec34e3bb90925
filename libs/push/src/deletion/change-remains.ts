import { Inject, Injectable } from '@nestjs/common';
import { type NatsConnection } from '@nats-io/transport-node';
import { CORE_STREAM, Database, deleteMessages, DependencyUnavailable, NATS, prepared } from '#platform';
import { ERASED } from '../change.js';

const AT_ONCE = 1_000;

/** A deletion whose rows in the log are erased already. */
interface Departure {
  readonly athlete_id: string;
}

interface Erased {
  readonly seq: string;
  readonly id: string;
  /** Null: the change was never published. */
  readonly published_as: string | null;
  readonly is_passed: boolean;
}

const erasedChanges = prepared(
  'erased changes',
  `
    select seq, id, published_as, seq <= published_seq as is_passed
    from change
    cross join change_relay
    where athlete_id = $1 and type = '${ERASED}'
    order by seq
    limit $2`,
);
const forget = prepared(
  'forget erased changes',
  `update change set athlete_id = null, published_as = null where seq = any($1::bigint[]) and type = '${ERASED}'`,
);

/**
 * Deletes from NATS the messages of changes that a deletion has erased, by the sequences that the relay stored. `athlete.deleted` and
 * `connection.removed` stay: consumers that are behind need them.
 *
 * A batch of the relay may have been read before the deletion. Therefore `erase` fails until the relay has passed the erased changes, and the
 * caller tries again. Not guaranteed: if the stream stored two messages of a change more than two hours apart (the relay was dead between
 * them), one of them stays. So do messages of a stream that was restored from a backup. NATS deletes both after seven days.
 */
@Injectable()
export class ChangeRemains {
  readonly name = 'change_messages';

  constructor(
    @Inject(NATS) private readonly connection: NatsConnection,
    private readonly database: Database,
  ) {}

  async erase<Counted extends Departure>(
    departures: readonly Counted[],
    count: (departure: Counted, deleted: number) => Promise<void>,
  ): Promise<void> {
    for (const departure of departures)
      for (;;) {
        const { rows } = await this.database.query<Erased>(erasedChanges, [departure.athlete_id, AT_ONCE]);
        if (rows.length === 0) break;
        // The relay waits for NATS, or passes them in a moment.
        if (rows.some(({ is_passed }) => !is_passed)) throw new DependencyUnavailable('nats');
        const deleted = await this.deleteMessagesOf(rows);
        if (deleted > 0) await count(departure, deleted);
        await this.database.query(forget, [rows.map(({ seq }) => seq)]);
      }
  }

  private deleteMessagesOf(changes: readonly Erased[]): Promise<number> {
    const ids = new Map<number, string>();
    for (const { published_as, id } of changes) if (published_as !== null) ids.set(Number(published_as), id);
    return deleteMessages(
      this.connection,
      CORE_STREAM,
      [...ids.keys()],
      ({ header, seq }) => header.get('Nats-Msg-Id') === ids.get(seq),
    );
  }
}

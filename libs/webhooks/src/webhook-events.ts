import { Injectable } from '@nestjs/common';
import { Database, NotFound, OperatorActions } from '#platform';

export const EVENT_STATUSES = ['waiting', 'set_aside'] as const;
type EventStatus = (typeof EVENT_STATUSES)[number];

interface EventView {
  readonly id: string;
  readonly vendor: string;
  readonly owner_id: string;
  readonly object_type: string;
  readonly object_id: string;
  readonly aspect: string;
  readonly status: EventStatus;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly event_time: Date;
  readonly received_at: Date;
  /** Null for an event that was set aside. */
  readonly next_attempt_at: Date | null;
}

interface EventFilter {
  readonly vendor?: string;
  readonly status?: EventStatus;
  /** The id after which the page begins. */
  readonly cursor: number;
  readonly limit: number;
}

const COLUMNS = `
  id, vendor, owner_id, object_type, object_id, aspect, attempts, last_error, event_time, received_at,
  case when processed_at is null then 'waiting' else 'set_aside' end as status,
  case when processed_at is null then next_attempt_at end as next_attempt_at`;

/** The operators' view of the inbox: events that wait, and events that were set aside and can be retried. */
@Injectable()
export class WebhookEvents {
  constructor(
    private readonly database: Database,
    private readonly actions: OperatorActions,
  ) {}

  /** Oldest first. */
  async list({ vendor, status, cursor, limit }: EventFilter) {
    const { rows } = await this.database.query<EventView>(listStatement(status), [
      vendor ?? null,
      cursor,
      limit + 1,
    ]);
    const items = rows.slice(0, limit);
    return { items, next_cursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
  }

  /** Makes an event that was set aside due now, with all its attempts. Throws NotFound for any other event. */
  async retry(id: number, actor: string): Promise<EventView> {
    return this.database.transaction(async (sql) => {
      const { rows } = await sql.query<EventView>(
        `update webhook_event
         set processed_at = null, outcome = null, attempts = 0, outages = 0, next_attempt_at = clock_timestamp()
         where id = $1 and outcome = 'set_aside'
         returning ${COLUMNS}`,
        [id],
      );
      const [event] = rows;
      if (!event) throw new NotFound('There is no such event, or it was not set aside');
      await sql.query(
        `insert into webhook_owner as owner (vendor, owner_id) values ($1, $2)
         on conflict (vendor, owner_id) do update set turn_at = least(owner.turn_at, excluded.turn_at)`,
        [event.vendor, event.owner_id],
      );
      await this.actions.note({ actor, action: 'webhook.retry', target: event.id }, sql);
      return event;
    });
  }
}

// Each condition is a part of the predicate of the index `webhook_event_open`.
const CONDITIONS = {
  waiting: 'processed_at is null',
  set_aside: "outcome = 'set_aside'",
  any: "(processed_at is null or outcome = 'set_aside')",
} as const;

/** Its values: the vendor or null, the id after which the page begins, the number of rows. */
export function listStatement(status: EventStatus | undefined): string {
  return `
    select ${COLUMNS}
    from webhook_event
    where ${CONDITIONS[status ?? 'any']}
      and ($1::text is null or vendor = $1)
      and id > $2::bigint
    order by id
    limit $3`;
}

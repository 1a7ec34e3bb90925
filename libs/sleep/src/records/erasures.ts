import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  type Config,
  CONFIG,
  Database,
  deletePast,
  longestWaitMs,
  prepared,
  type Sql,
  Sweeps,
} from '#platform';
import { type NightSource } from '../normalise/session.js';

const EVERY_MS = 3_600_000;

const PURGE = prepared(
  'purge sleep erasures',
  `
    delete from sleep_erasure
    where ctid = any(array(
      select ctid
      from sleep_erasure
      where erased_at < now() - $1::float8 * interval '1 millisecond'
      limit $2
    ))`,
);

/**
 * Makes save-sessions.sql refuse the events of a source that were received until `receivedUntil`, by the clock that dates the events of this
 * source: NATS dates nights that clients sent, Postgres dates vendors' records. Null: now, by the clock of Postgres. `infinity`: until
 * `endErasures`.
 */
export async function rememberErasure(
  sql: Sql,
  userId: string,
  source: NightSource,
  receivedUntil: 'infinity' | null,
): Promise<void> {
  const statement = `
    insert into sleep_erasure (user_id, source, erased_at, received_until)
    values ($1, $2, clock_timestamp(), coalesce($3::timestamptz, clock_timestamp()))
    on conflict (user_id, source) do update
    set erased_at = excluded.erased_at, received_until = excluded.received_until`;
  await sql.query(statement, [userId, source, receivedUntil]);
}

/**
 * Events that are received after `newest` are stored again. An erasure that began after `askedAt`, by Postgres, is left open: NATS was asked
 * before it. `askedAt` is a text, since a Date has no microseconds.
 */
export async function endErasures(
  sql: Sql,
  userIds: readonly string[],
  { askedAt, newest }: { readonly askedAt: string; readonly newest: Date },
): Promise<void> {
  const statement = `
    update sleep_erasure
    set received_until = $3
    where user_id = any($1) and received_until = 'infinity' and erased_at <= $2::timestamptz`;
  await sql.query(statement, [userIds, askedAt, newest]);
}

/** Purges an erasure when no event that it refuses can wait anywhere any more. Runs hourly. TIME_SCALE does not shorten the wait. */
@Injectable()
export class Erasures implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly sweeps: Sweeps,
    @Inject(CONFIG) private readonly config: Pick<Config, 'nats'>,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('sleep erasures', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    await deletePast(this.database, PURGE, longestWaitMs(this.config.nats));
  }
}

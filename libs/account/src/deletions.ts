import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Connections, DeletedAthletes } from '#connections';
import {
  announceRemovedConnection,
  beginUnannouncedDeletion,
  type Config,
  CONFIG,
  Database,
  type Held,
  LOGGER,
  type Logger,
  longestWaitMs,
  type Outcome,
  type Sql,
  TIME_SCALE,
  type TimeScale,
  type Worker,
  Workers,
} from '#platform';
import { AccountBindings, type PersonalRecords } from './personal-records.js';
import { type Deletion, type DepartureClaim, Receipts } from './receipts.js';

const EVERY_MS = 5_000;
const LEASE_MS = 60_000;
const DEPARTURES_AT_ONCE = 100;
const LOOK_FOR_CALLS_MS = 100;
const DAY_MS = 86_400_000;

/** After `failed` the deletion keeps its lease, so that the other deletions go first. `interrupted` means that the process stops. */
type DeletionOutcome = Outcome & { readonly kind: 'rows_deleted' | 'interrupted' | 'failed' };
type DepartureOutcome = Outcome & { readonly kind: 'completed' | 'failed' };

/**
 * Carries out requested deletions in two steps. The first step deletes the rows in small transactions, and each transaction counts its
 * rows. The second step erases the data outside of Postgres. While NATS is away, the second step waits and the receipt stays pending. If a
 * worker dies, another worker resumes.
 *
 * | failed                   | tried again                              |
 * | ------------------------ | ---------------------------------------- |
 * | rows                     | when the lease ends, after 60 s          |
 * | data outside of Postgres | after 5 s, all departures together       |
 */
@Injectable()
export class Deletions implements OnApplicationBootstrap {
  // Rows and remains have a worker each, so that rows are deleted without delay while `eraseRemains` waits for a server.
  private readonly rows: Worker<Deletion, DeletionOutcome>;
  private readonly departures: Worker<readonly DepartureClaim[], DepartureOutcome>;

  constructor(
    private readonly receipts: Receipts,
    private readonly connections: Connections,
    @Inject(DeletedAthletes) private readonly deletedAthletes: Pick<DeletedAthletes, 'tell'>,
    private readonly database: Database,
    workers: Workers,
    private readonly bindings: AccountBindings,
    @Inject(CONFIG) private readonly config: Pick<Config, 'nats' | 'changes'>,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.rows = workers.of<Deletion, DeletionOutcome>({
      name: 'deletions',
      lease: { ms: LEASE_MS },
      everyMs: EVERY_MS,
      claim: (leaseMs) => receipts.claim(leaseMs),
      renew: (deletion, leaseMs) => receipts.renew(deletion, leaseMs),
      run: (deletion, held) => this.deleteRowsOf(deletion, held),
      failed: () => ({ kind: 'failed', pauses: true }),
      settle: (deletion, { kind }) =>
        kind === 'interrupted' ? receipts.release([deletion]) : Promise.resolve(true),
      about: ({ id }) => ({ receipt_id: id }),
    });
    this.departures = workers.of<readonly DepartureClaim[], DepartureOutcome>({
      name: 'departures',
      lease: { ms: LEASE_MS },
      everyMs: EVERY_MS,
      claim: (leaseMs) => this.claimDepartures(leaseMs),
      renew: (departures, leaseMs) => receipts.renewDepartures(departures, leaseMs),
      run: (departures) => this.eraseRemainsOf(departures),
      failed: () => ({ kind: 'failed', pauses: true }),
      settle: (departures, { kind }) =>
        kind === 'failed' ? receipts.release(departures) : this.complete(departures),
      about: (departures) => ({ departures: departures.length }),
    });
  }

  onApplicationBootstrap(): void {
    this.rows.start();
    this.departures.start();
  }

  /** Deletes the rows of all waiting deletions. */
  async deleteRows(): Promise<void> {
    await this.rows.drain();
  }

  /** Erases the data outside of Postgres, for the deletions whose rows are deleted. */
  async eraseRemains(): Promise<void> {
    await this.departures.drain();
  }

  private async deleteRowsOf(deletion: Deletion, { isStopping }: Held): Promise<DeletionOutcome> {
    do {
      await this.cutConnections(deletion);
      while (!isStopping() && (await this.hasOpenCalls(deletion))) await pause(LOOK_FOR_CALLS_MS);
      for (const records of this.recordsOf(deletion)) await this.deleteAll(deletion, records, isStopping);
      if (isStopping()) return { kind: 'interrupted' };
    } while (!(await this.finishRows(deletion)));
    if (deletion.provider === null) this.deletedAthletes.tell(deletion.athlete_id);
    return { kind: 'rows_deleted' };
  }

  /** Claims up to 100 waiting deletions together, because each pass reads whole streams. */
  private async claimDepartures(leaseMs: number): Promise<readonly DepartureClaim[] | undefined> {
    const departures = await this.receipts.claimDepartures(leaseMs, DEPARTURES_AT_ONCE);
    return departures.length > 0 ? departures : undefined;
  }

  private async eraseRemainsOf(departures: readonly DepartureClaim[]): Promise<DepartureOutcome> {
    const claims = new Map(departures.map((claim) => [claim.id, claim]));
    for (const remains of this.bindings.remains.required())
      await remains.erase(departures, ({ id }, deleted) =>
        this.receipts.countErased(claims.get(id) as DepartureClaim, remains.name, deleted),
      );
    return { kind: 'completed' };
  }

  private async complete(departures: readonly DepartureClaim[]): Promise<boolean> {
    const completed = await this.receipts.complete(departures, this.remainsMs());
    // Again, because the worker that deleted the rows may have died before it told anybody.
    for (const { athlete_id, provider } of departures)
      if (provider === null) this.deletedAthletes.tell(athlete_id);
    for (const id of completed) this.logger.info({ receipt_id: id }, 'deletion completed');
    return completed.length > 0;
  }

  /** How long the erasures and the log of changes (`athlete.deleted`) still name the person. See docs/deletion.md. */
  private remainsMs(): number {
    const { nats, changes } = this.config;
    return Math.max(longestWaitMs(nats), this.scale.wait(changes.retentionDays * DAY_MS));
  }

  private recordsOf({ provider }: Deletion): PersonalRecords[] {
    return this.bindings.records
      .required()
      .filter((records) => provider === null || records.provider === provider || records.provider === 'any');
  }

  /**
   * Ends the connections, so that answers of the vendor that arrive late are dropped. A worker that was frozen past its lease ends none:
   * the athlete may have connected again since another worker finished the deletion.
   */
  private async cutConnections(deletion: Deletion): Promise<void> {
    const { athlete_id, provider } = deletion;
    for (const connection of await this.connections.list(athlete_id))
      if (provider === null || connection.provider === provider)
        await this.connections.disconnect(athlete_id, connection.provider, async (sql) => {
          await this.receipts.assertHeld(sql, deletion);
          await beginUnannouncedDeletion(sql, provider === null ? 'account' : 'vendor');
          return true;
        });
  }

  /**
   * True while a call that was permitted before its connection ended may still begin. The deletion waits for it, so that no call begins after the
   * receipt.
   */
  private async hasOpenCalls({ athlete_id, provider }: Deletion): Promise<boolean> {
    for (const records of this.bindings.records.required())
      if (await records.hasOpenCalls?.(athlete_id, provider)) return true;
    return false;
  }

  /**
   * Deletes the last rows and marks the deletion of rows as finished. Returns false if new data came since the last batch: the athlete
   * connected again, or a night was sent. The caller then deletes the new data and ends the new connection, too.
   *
   * The lock on the athlete's row keeps out further data until the transaction ends. `connection.removed` or `athlete.deleted` therefore comes
   * after the last change of the deleted rows, so a reader who has listed some of them learns of their deletion.
   */
  private finishRows(deletion: Deletion): Promise<boolean> {
    const { athlete_id, provider } = deletion;
    return this.database.transaction(async (sql) => {
      await beginUnannouncedDeletion(sql, provider === null ? 'account' : 'vendor');
      await sql.query('select 1 from athlete where id = $1 for update', [athlete_id]);
      const connections = await this.connections.list(athlete_id, sql);
      if (connections.some((connection) => provider === null || connection.provider === provider))
        return false;
      const { rows } = await sql.query<{ now: Date }>('select clock_timestamp() as now');
      let late = 0;
      for (const records of this.recordsOf(deletion)) late += await this.deleteSome(sql, deletion, records);
      if (late > 0) return false;
      await this.receipts.rowsDeleted(sql, deletion, rows[0]?.now as Date);
      if (provider === null) await sql.query('delete from athlete where id = $1', [athlete_id]);
      else await announceRemovedConnection(sql, athlete_id, provider);
      return true;
    });
  }

  private async deleteAll(
    deletion: Deletion,
    records: PersonalRecords,
    isStopping: () => boolean,
  ): Promise<void> {
    let deleted = Infinity;
    while (deleted > 0 && !isStopping())
      deleted = await this.database.transaction(async (sql) => {
        await beginUnannouncedDeletion(sql, deletion.provider === null ? 'account' : 'vendor');
        return this.deleteSome(sql, deletion, records);
      });
  }

  private async deleteSome(sql: Sql, deletion: Deletion, records: PersonalRecords): Promise<number> {
    if (!records.deleteSome) return 0;
    const { athlete_id, accounts, provider } = deletion;
    const some = await records.deleteSome(sql, athlete_id, accounts, provider);
    await this.receipts.countRows(sql, deletion, records.name, some);
    return some;
  }
}

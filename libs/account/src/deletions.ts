import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Connections } from '#connections';
import { Database, LOGGER, type Logger, Sweeps, TIME_SCALE, type TimeScale } from '#platform';
import { PERSONAL_RECORDS, type PersonalRecords } from './personal-records.js';
import { type Deletion, Receipts } from './receipts.js';

const EVERY_MS = 5_000;
const LEASE_MS = 60_000;

/** Deletes what was asked for, in small transactions that each count what they deleted; resumes where a worker died. */
@Injectable()
export class Deletions implements OnApplicationBootstrap {
  constructor(
    private readonly receipts: Receipts,
    private readonly connections: Connections,
    private readonly database: Database,
    private readonly sweeps: Sweeps,
    @Inject(PERSONAL_RECORDS) private readonly records: readonly PersonalRecords[],
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('deletions', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    for (;;) {
      const deletion = await this.receipts.claim(this.leaseMs);
      if (!deletion) return;
      await this.carryOut(deletion);
    }
  }

  private async carryOut(deletion: Deletion): Promise<void> {
    const { id, provider } = deletion;
    do {
      await this.cutConnections(deletion);
      for (const records of this.records)
        if (records.deleteSome && (provider === null || records.provider === provider))
          await this.deleteAll(deletion, records);
    } while (!(await this.finish(deletion)));
    this.logger.info({ receipt_id: id, reason: deletion.reason }, 'deletion completed');
  }

  /** Which also makes late answers of the vendor's worthless. */
  private async cutConnections({ athlete_id, provider }: Deletion): Promise<void> {
    for (const connection of await this.connections.list(athlete_id))
      if (provider === null || connection.provider === provider)
        await this.connections.disconnect(athlete_id, connection.provider);
  }

  /** False where a consent that was under way has ended in a connection meanwhile: that goes too, and is revoked. */
  private finish({ id, athlete_id, provider }: Deletion): Promise<boolean> {
    return this.database.transaction(async (sql) => {
      await sql.query('select 1 from athlete where id = $1 for update', [athlete_id]);
      const connections = await this.connections.list(athlete_id, sql);
      if (connections.some((connection) => provider === null || connection.provider === provider))
        return false;
      if (provider === null) await sql.query('delete from athlete where id = $1', [athlete_id]);
      await this.receipts.complete(sql, id);
      return true;
    });
  }

  private async deleteAll({ id, athlete_id, accounts }: Deletion, records: PersonalRecords): Promise<void> {
    for (;;) {
      const deleted = await this.database.transaction(async (sql) => {
        const some = (await records.deleteSome?.(sql, athlete_id, accounts)) ?? 0;
        await this.receipts.count(sql, id, records.name, some, this.leaseMs);
        return some;
      });
      if (deleted === 0) return;
    }
  }

  private get leaseMs(): number {
    return this.scale.guard(LEASE_MS);
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import { type OnApplicationShutdown } from '@nestjs/common';
import { Counter } from 'prom-client';
import { Gather } from '../process/gather.js';
import { type Database, type Result, type Statement } from './database.js';
import { positionOf, type Standby } from './standby.js';

// A standby on the same network is a few milliseconds behind. A longer wait would cost more than the read on the primary.
const LOOKS = 3;
const BETWEEN_LOOKS_MS = 4;

const reads = new Counter({
  name: 'database_standby_reads_total',
  help: 'Reads that may come from the standby, by result; all but "standby" were answered by the primary',
  labelNames: ['result'],
});

type Refusal = 'unknown' | 'away' | 'late' | 'behind' | 'lacking' | 'failed';

/**
 * Reads that a standby may answer; the primary answers if there is no standby, or if the standby cannot. The caller must have read ownership,
 * deletion and version from the primary.
 *
 * An answer is as new as one of the primary at the beginning of the read: a row is read by its version, or the standby has replayed all that
 * the primary had committed. The changes that clients follow are never read here.
 */
export class StandbyReads implements OnApplicationShutdown {
  /** Reads that begin together share one look at the primary's position. */
  private readonly positions = new Gather<void, bigint>(
    async (requests) => {
      const position = await this.position();
      return requests.map(() => position);
    },
    { turnEnd: 'poll', mostAtOnce: 1 },
  );

  constructor(
    private readonly primary: Database,
    private readonly standby?: Standby,
  ) {}

  /** Rows that never change under the version that `values` name. If the standby has fewer than `count` rows, the primary is asked. */
  versions<Row extends object>(
    statement: Statement,
    values: readonly unknown[],
    count = 1,
  ): Promise<Result<Row>> {
    return this.read(statement, values, async (standby) => {
      const result = await standby.query<Row>(statement, values);
      return result.rows.length >= count ? result : 'lacking';
    });
  }

  /** Rows as they are now. A client that has just written, or was told of a change, finds it. */
  current<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Result<Row>> {
    return this.read(statement, values, async (standby) =>
      (await hasCaughtUp(standby, await this.positions.submit()))
        ? standby.query<Row>(statement, values)
        : 'behind',
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.standby?.stop();
  }

  private async read<Row extends object>(
    statement: Statement,
    values: readonly unknown[],
    onStandby: (standby: Standby) => Promise<Result<Row> | Refusal>,
  ): Promise<Result<Row>> {
    if (!this.standby) return this.primary.query<Row>(statement, values);
    const { present } = this.standby;
    const result = present === 'usable' ? await this.attempt(this.standby, onStandby) : present;
    reads.inc({ result: typeof result === 'string' ? result : 'standby' });
    return typeof result === 'string' ? this.primary.query<Row>(statement, values) : result;
  }

  /** The standby may have cancelled the statement because it conflicts with the replay, or may be gone. */
  private async attempt<Row extends object>(
    standby: Standby,
    onStandby: (standby: Standby) => Promise<Result<Row> | Refusal>,
  ): Promise<Result<Row> | Refusal> {
    try {
      return await onStandby(standby);
    } catch {
      return 'failed';
    }
  }

  private async position(): Promise<bigint> {
    const { rows } = await this.primary.query<{ position: string }>(
      'select pg_current_wal_flush_lsn()::text as position',
    );
    return positionOf(rows[0]?.position ?? '0/0');
  }
}

async function hasCaughtUp(standby: Standby, position: bigint): Promise<boolean> {
  for (let look = 1; ; look += 1) {
    if (await standby.hasReplayed(position)) return true;
    if (look === LOOKS) return false;
    await pause(BETWEEN_LOOKS_MS);
  }
}

import { Injectable } from '@nestjs/common';
import { Database } from '#platform';

/** Operators may pause the backfill of all athletes. Kept in Postgres: Redis may forget it. */
@Injectable()
export class BackfillSwitch {
  constructor(private readonly database: Database) {}

  async isPaused(): Promise<boolean> {
    const { rows } = await this.database.query<{ is_paused: boolean }>(
      'select is_paused from backfill_switch',
    );
    return rows[0]?.is_paused ?? false;
  }

  async turn(isPaused: boolean): Promise<void> {
    const statement = 'update backfill_switch set is_paused = $1, changed_at = now() where is_paused <> $1';
    await this.database.query(statement, [isPaused]);
  }
}

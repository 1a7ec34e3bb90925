import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import { type BackfillOwner } from '#streams';
import { BACKFILLED, BackfillTicks } from './backfill-ticks.js';

/** Operators may pause the backfill of all athletes. The switch is stored in Postgres, since Redis may lose data. */
@Injectable()
export class BackfillSwitch {
  constructor(private readonly database: Database) {}

  async isPaused(): Promise<boolean> {
    const { rows } = await this.database.query<{ is_paused: boolean }>(
      'select is_paused from backfill_switch',
    );
    return rows[0]?.is_paused ?? false;
  }

  async setPaused(isPaused: boolean): Promise<void> {
    const statement = 'update backfill_switch set is_paused = $1, changed_at = now() where is_paused <> $1';
    await this.database.query(statement, [isPaused]);
  }
}

/** Starts, pauses and resumes the backfill. Also without a start, a sweep schedules due backfills every minute. */
@Injectable()
export class Backfill {
  constructor(
    private readonly ticks: BackfillTicks,
    private readonly backfillSwitch: BackfillSwitch,
  ) {}

  /** False if Redis is away. The sweep starts the backfill later. */
  begin(owner: BackfillOwner): Promise<boolean> {
    return this.ticks.scheduleNow(owner);
  }

  /** Begins the athlete's backfills from all vendors. False if Redis is away. */
  async beginAll(athleteId: string): Promise<boolean> {
    for (const provider of BACKFILLED) if (!(await this.begin({ athleteId, provider }))) return false;
    return true;
  }

  isPaused(): Promise<boolean> {
    return this.backfillSwitch.isPaused();
  }

  pause(): Promise<void> {
    return this.backfillSwitch.setPaused(true);
  }

  /** The next sweep schedules every athlete with due streams. */
  resume(): Promise<void> {
    return this.backfillSwitch.setPaused(false);
  }
}

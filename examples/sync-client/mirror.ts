import { rmSync } from 'node:fs';
import sqlite from 'node-sqlite3-wasm';
import { type Activity, type Change } from './api.js';

type Sqlite = InstanceType<typeof sqlite.Database>;

const SCHEMA = `
  create table if not exists activity (
    id text primary key, athlete_id text not null, provider text not null, revision integer not null, data text not null
  );
  create index if not exists activity_of_athlete on activity (athlete_id, provider);
  create table if not exists place (
    is_only integer primary key check (is_only = 1), cursor text not null, is_complete integer not null
  );`;

// A change that is older than the row changes nothing, so that a batch may be applied again.
const STORE = `
  insert into activity (id, athlete_id, provider, revision, data)
  values (?, ?, ?, ?, ?)
  on conflict (id) do update set revision = excluded.revision, data = excluded.data
  where excluded.revision > activity.revision`;

/** All activities in an SQLite file, and the place in the feed up to which it has them. Both change in one transaction. */
export class Mirror {
  private constructor(private readonly db: Sqlite) {
    db.exec(SCHEMA);
  }

  /** One process at a time: a killed one leaves its lock behind, so the lock is removed. */
  static open(file: string): Mirror {
    rmSync(`${file}.lock`, { recursive: true, force: true });
    return new Mirror(new sqlite.Database(file));
  }

  get isComplete(): boolean {
    return this.db.get('select is_complete from place')?.['is_complete'] === 1;
  }

  get cursor(): string {
    return this.db.get('select cursor from place')?.['cursor'] as string;
  }

  /** Begins a copy with nothing: an activity of an earlier copy may have been deleted before this place in the feed. */
  begin(cursor: string): void {
    this.inTransaction(() => {
      this.db.exec('delete from activity');
      this.db.run('insert or replace into place (is_only, cursor, is_complete) values (1, ?, 0)', [cursor]);
    });
  }

  /** Lists of activities have no revisions. Each change is newer. */
  copy(athleteId: string, activities: readonly Activity[]): void {
    this.inTransaction(() => {
      for (const activity of activities) this.store(athleteId, activity, 0);
    });
  }

  completed(): void {
    this.db.run('update place set is_complete = 1');
  }

  apply(changes: readonly Change[], cursor: string): void {
    this.inTransaction(() => {
      for (const change of changes) this.applyOne(change);
      this.db.run('update place set cursor = ?', [cursor]);
    });
  }

  /** The next copy begins anew. */
  forgetPlace(): void {
    this.db.run('update place set is_complete = 0');
  }

  close(): void {
    this.db.close();
  }

  private applyOne({ type, athlete_id, subject_id, revision, data }: Change): void {
    if (type === 'athlete.deleted') this.db.run('delete from activity where athlete_id = ?', [athlete_id]);
    else if (type === 'connection.removed')
      this.db.run('delete from activity where athlete_id = ? and provider = ?', [athlete_id, subject_id]);
    else if (type === 'activity.deleted') this.db.run('delete from activity where id = ?', [subject_id]);
    else if (data) this.store(athlete_id, data, revision);
  }

  private store(athleteId: string, activity: Activity, revision: number): void {
    const values = [activity.id, athleteId, activity.provider, revision, JSON.stringify(activity)];
    this.db.run(STORE, values);
  }

  private inTransaction(work: () => void): void {
    this.db.exec('begin');
    try {
      work();
      this.db.exec('commit');
    } catch (error) {
      this.db.exec('rollback');
      throw error;
    }
  }
}

import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, EventBus, loadSql, Sweeps } from '#platform';
import { asItIs } from '../normalise/announcements.js';
import { texts, words } from '../normalise/column.js';
import { type Night, SleepStore } from '../normalise/sleep-store.js';
import { Telling } from '../normalise/telling.js';

const untoldNights = loadSql(import.meta.url, './sql/untold-nights.sql');
const forgetTold = loadSql(import.meta.url, './sql/forget-told.sql');

const EVERY_MS = 5_000;
const AT_ONCE = 500;

interface UntoldNight extends Night {
  readonly because: string;
}

/** Tells of the nights that deletions have changed. They wait in a table, so that none is lost while NATS is away. */
@Injectable()
export class Untold implements OnApplicationBootstrap {
  private readonly telling: Telling;

  constructor(
    private readonly database: Database,
    private readonly sweeps: Sweeps,
    store: SleepStore,
    bus: EventBus,
  ) {
    this.telling = new Telling(store, bus);
  }

  onApplicationBootstrap(): void {
    this.sweeps.every('sleep untold', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    for (let nights = await this.next(); nights.length > 0; nights = await this.next()) {
      await this.telling.tell(nights.map((night) => asItIs(night, night.because)));
      await this.forget(nights);
    }
  }

  private async next(): Promise<readonly UntoldNight[]> {
    return (await this.database.query<UntoldNight>(untoldNights, [AT_ONCE])).rows;
  }

  private async forget(nights: readonly UntoldNight[]): Promise<void> {
    await this.database.query(forgetTold, [
      texts(nights.map(({ user_id }) => user_id)),
      words(nights.map(({ date }) => date)),
      words(nights.map(({ because }) => because)),
    ]);
  }
}

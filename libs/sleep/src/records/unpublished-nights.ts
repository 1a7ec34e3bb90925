import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Database, EventBus, prepared, Sweeps } from '#platform';
import { correctionOf } from '../normalise/announcements.js';
import { texts, unquoted } from '../normalise/columns.js';
import { type Night, SleepStore } from '../normalise/sleep-store.js';
import { NightPublisher } from '../normalise/night-publisher.js';

const listUnpublished = prepared(
  'list unpublished sleep nights',
  `
    select
      untold.user_id, to_char(untold.date, 'YYYY-MM-DD') as date, untold.because, sleep_data.event_id, duration_minutes,
      quality_score, vendor, captured_at, true as changed
    from sleep_untold as untold
    left join sleep_data on sleep_data.user_id = untold.user_id and sleep_data.date = untold.date
    order by untold.since, untold.user_id, untold.date
    limit $1`,
);
const forgetPublished = prepared(
  'forget published sleep nights',
  `
    delete from sleep_untold
    using unnest(string_to_array($1, chr(30), ''), $2::date[], $3::uuid[]) as published (user_id, date, because)
    where sleep_untold.user_id = published.user_id
      and sleep_untold.date = published.date
      -- A later deletion or reread may have changed the night.
      and sleep_untold.because = published.because`,
);

const EVERY_MS = 5_000;
const AT_ONCE = 500;

interface UnpublishedNight extends Night {
  readonly because: string;
}

/**
 * Publishes nights that deletions and rereads have changed, every 5 s. The nights wait in a table, so that no night is lost while NATS is
 * away. If two workers publish the same night, both messages have the same id and the stream keeps one message.
 */
@Injectable()
export class UnpublishedNights implements OnApplicationBootstrap {
  private readonly publisher: NightPublisher;

  constructor(
    private readonly database: Database,
    private readonly sweeps: Sweeps,
    store: SleepStore,
    bus: EventBus,
  ) {
    this.publisher = new NightPublisher(store, bus);
  }

  onApplicationBootstrap(): void {
    this.sweeps.every('sleep untold', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    for (let nights = await this.next(); nights.length > 0; nights = await this.next()) {
      await this.publisher.publish(nights.map((night) => correctionOf(night, night.because)));
      // Every night has changed again since it was read, or cannot be deleted. The next run publishes it, so that no run is endless.
      if ((await this.forget(nights)) === 0) return;
    }
  }

  private async next(): Promise<readonly UnpublishedNight[]> {
    return (await this.database.query<UnpublishedNight>(listUnpublished, [AT_ONCE])).rows;
  }

  /** Returns the number of nights that are forgotten. */
  private async forget(nights: readonly UnpublishedNight[]): Promise<number> {
    const { count } = await this.database.query(forgetPublished, [
      texts(nights.map(({ user_id }) => user_id)),
      unquoted(nights.map(({ date }) => date)),
      unquoted(nights.map(({ because }) => because)),
    ]);
    return count;
  }
}

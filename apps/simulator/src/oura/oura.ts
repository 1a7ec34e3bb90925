import { type Athlete, type Core, type TokenStore } from '../core/index.js';
import { ClientApp } from '../wearables/client-app.js';
import { Habits } from '../wearables/habits.js';
import { planNight, reviseNight } from '../wearables/plan-night.js';
import { Sleepers } from '../wearables/sleepers.js';
import { type SleepOrder } from '../wearables/sleep-order.js';
import { vendorTokens } from '../wearables/vendor-tokens.js';
import { OuraEvents } from './oura-events.js';
import { ACCESS_TOKEN_SECONDS, SUBSCRIPTION_LIFETIME_DAYS, SYNCED_AFTER_WAKING_MS } from './oura-facts.js';
import { AS_NEW, OuraHabits } from './oura-habits.js';
import { type Change, OuraJournal, type SavedJournal } from './oura-journal.js';
import { type OuraSleep } from './oura-sleep.js';
import { Subscriptions } from './subscriptions.js';

const DAY_MS = 86_400_000;

/** Oura's memory, and what happens to it: every change that an app is told of goes through here. */
export class Oura {
  readonly client: ClientApp;
  readonly habits: Habits<typeof OuraHabits>;
  readonly tokens: TokenStore;
  readonly sleepers: Sleepers;
  readonly journal: OuraJournal;
  readonly subscriptions: Subscriptions;
  readonly events: OuraEvents;

  constructor(readonly core: Core) {
    const now = () => core.clock.nowMs();
    this.client = new ClientApp(core, 'oura');
    this.habits = new Habits(core, 'oura', OuraHabits, AS_NEW);
    this.tokens = vendorTokens(core, 'oura', () => ({
      lifetimeSeconds: ACCESS_TOKEN_SECONDS,
      rotates: this.habits.now.refresh_rotates,
    }));
    this.sleepers = new Sleepers(core, 'oura');
    this.journal = new OuraJournal(now);
    // Subscriptions belong to the app, so a reset of the world leaves them alone.
    this.subscriptions = new Subscriptions(now, core.clock.scaledMs(SUBSCRIPTION_LIFETIME_DAYS * DAY_MS));
    this.events = new OuraEvents(core, this.client, this.subscriptions, this.habits);
    core.world.onReset(() => this.journal.clear());
    core.memory.keep('oura subscriptions', this.subscriptions);
    core.memory.keep('oura events', this.events);
    core.memory.keep('oura sleep', {
      save: () => this.journal.save(),
      restore: (saved: SavedJournal) => this.restoreSleep(saved),
    });
  }

  addAthlete({ nights, id, seed }: { nights: number; id?: string; seed?: number }): Athlete {
    const athlete = this.sleepers.add({ nights, id, seed });
    this.fillPast(athlete);
    return athlete;
  }

  sync(athlete: Athlete, order: SleepOrder): OuraSleep {
    const seed = this.sleepers.nextNightSeed(athlete);
    const night = planNight(this.sleepers.profileOf(athlete), order, seed, this.core.clock.nowMs());
    const extras = { verdict: order.type, isSparse: order.sparse ?? false };
    return this.publish(this.journal.add(athlete.id, night, extras));
  }

  revise(sleep: OuraSleep, order: SleepOrder): OuraSleep {
    return this.publish(
      this.journal.revise(sleep, {
        night: reviseNight(sleep.night, order, this.core.clock.nowMs()),
        verdict: order.type ?? sleep.verdict,
        isSparse: order.sparse ?? sleep.isSparse,
      }),
    );
  }

  remove(sleep: OuraSleep): void {
    this.tell(this.journal.remove(sleep));
  }

  private fillPast(athlete: Athlete): void {
    this.journal.fill(athlete.id, this.sleepers.pastOf(athlete), SYNCED_AFTER_WAKING_MS);
  }

  private restoreSleep(saved: SavedJournal): void {
    this.sleepers.all().forEach((athlete) => this.fillPast(athlete));
    this.journal.restore(saved, (id) => this.sleepers.profileOf(this.sleepers.find(id)!));
  }

  private publish([sleep, changes]: [OuraSleep, Change[]]): OuraSleep {
    this.tell(changes);
    return sleep;
  }

  /** Oura speaks only of people whose consent still stands. */
  private tell(changes: readonly Change[]): void {
    changes
      .filter(({ athleteId }) => this.tokens.isConnected(athleteId))
      .forEach((change) => this.events.publish(change));
  }
}

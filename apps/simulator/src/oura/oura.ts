import { type Athlete, type Core, type TokenStore } from '../core/index.js';
import { ClientApp } from '../wearables/client-app.js';
import { Habits } from '../wearables/habits.js';
import { planNight, reviseNight, type SleepOrder } from '../wearables/plan-night.js';
import { WearableAthletes } from '../wearables/wearable-athletes.js';
import { vendorTokens } from '../wearables/vendor-tokens.js';
import { OuraEvents } from './oura-events.js';
import {
  ACCESS_TOKEN_SECONDS,
  DEFAULT_HABITS,
  OuraHabits,
  SUBSCRIPTION_LIFETIME_DAYS,
  SYNCED_AFTER_WAKING_MS,
} from './oura-facts.js';
import { type Change, OuraJournal, type SavedJournal } from './oura-journal.js';
import { type OuraSleep } from './oura-sleep.js';
import { Subscriptions } from './subscriptions.js';

const DAY_MS = 86_400_000;

/** The state of the simulated Oura. Each change that sends an event to the app is a method here. */
export class Oura {
  readonly client: ClientApp;
  readonly habits: Habits<typeof OuraHabits>;
  readonly tokens: TokenStore;
  readonly athletes: WearableAthletes;
  readonly journal: OuraJournal;
  readonly subscriptions: Subscriptions;
  readonly events: OuraEvents;

  constructor(readonly core: Core) {
    const now = () => core.clock.nowMs();
    this.client = new ClientApp(core, 'oura');
    this.habits = new Habits(core, 'oura', OuraHabits, DEFAULT_HABITS);
    this.tokens = vendorTokens(core, 'oura', () => ({
      lifetimeSeconds: ACCESS_TOKEN_SECONDS,
      rotates: this.habits.now.refresh_rotates,
    }));
    this.athletes = new WearableAthletes(core, 'oura');
    this.journal = new OuraJournal(now);
    // Subscriptions belong to the app, so a reset of the world keeps them.
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
    const athlete = this.athletes.add({ nights, id, seed });
    this.fillPast(athlete);
    return athlete;
  }

  sync(athlete: Athlete, order: SleepOrder): OuraSleep {
    const seed = this.athletes.nextNightSeed(athlete);
    const night = planNight(this.athletes.profileOf(athlete), order, seed, this.core.clock.nowMs());
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
    this.journal.fill(athlete.id, this.athletes.pastOf(athlete), SYNCED_AFTER_WAKING_MS);
  }

  private restoreSleep(saved: SavedJournal): void {
    this.athletes.all().forEach((athlete) => this.fillPast(athlete));
    this.journal.restore(saved, (id) => this.athletes.profileOf(this.athletes.find(id)!));
  }

  private publish([sleep, changes]: [OuraSleep, Change[]]): OuraSleep {
    this.tell(changes);
    return sleep;
  }

  /** Oura sends events only for athletes with a grant that is not revoked. */
  private tell(changes: readonly Change[]): void {
    changes
      .filter(({ athleteId }) => this.tokens.isConnected(athleteId))
      .forEach((change) => this.events.publish(change));
  }
}

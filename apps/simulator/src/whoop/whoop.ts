import { type Athlete, type Core, type TokenStore } from '../core/index.js';
import { ClientApp } from '../wearables/client-app.js';
import { Habits } from '../wearables/habits.js';
import { planNight, reviseNight, type SleepOrder } from '../wearables/plan-night.js';
import { WearableAthletes } from '../wearables/wearable-athletes.js';
import { vendorTokens } from '../wearables/vendor-tokens.js';
import { type EventType, WhoopEvents } from './whoop-events.js';
import { DEFAULT_HABITS, SCORED_AFTER_WAKING_MS, WhoopHabits } from './whoop-facts.js';
import { type SavedJournal, type ScoreState, WhoopJournal, type WhoopSleep } from './whoop-journal.js';

/** A score that is due later. */
interface Scoring {
  readonly sleepId: string;
  readonly dueAtMs: number;
  readonly score?: number | null;
}

interface SavedSleep {
  readonly journal: SavedJournal;
  readonly scorings: readonly Scoring[];
}

/** The state of the simulated WHOOP. Each change that sends an event to the app is a method here. */
export class Whoop {
  readonly client: ClientApp;
  readonly habits: Habits<typeof WhoopHabits>;
  readonly tokens: TokenStore;
  readonly athletes: WearableAthletes;
  readonly journal: WhoopJournal;
  readonly events: WhoopEvents;
  private readonly scorings = new Map<Scoring, () => void>();

  constructor(readonly core: Core) {
    this.client = new ClientApp(core, 'whoop');
    this.habits = new Habits(core, 'whoop', WhoopHabits, DEFAULT_HABITS);
    this.tokens = vendorTokens(core, 'whoop', () => ({
      lifetimeSeconds: this.habits.now.access_token_seconds,
      rotates: this.habits.now.refresh_rotates,
    }));
    this.athletes = new WearableAthletes(core, 'whoop');
    this.journal = new WhoopJournal(() => core.clock.nowMs());
    // The URL belongs to the app, so a reset of the world keeps it.
    this.events = new WhoopEvents(core, this.client, this.habits);
    core.world.onReset(() => {
      this.journal.clear();
      this.stop();
      this.scorings.clear();
    });
    core.memory.keep('whoop events', this.events);
    core.memory.keep('whoop sleep', {
      save: () => ({ journal: this.journal.save(), scorings: [...this.scorings.keys()] }),
      restore: (saved: SavedSleep) => this.restoreSleep(saved),
    });
  }

  /** Cancels the timers of pending scores. The pending scores stay in the saved state. A restart sets the timers again. */
  stop(): void {
    this.scorings.forEach((cancel) => cancel());
  }

  addAthlete({ nights, id, seed }: { nights: number; id?: string; seed?: number }): Athlete {
    const athlete = this.athletes.add({ nights, id, seed });
    this.fillPast(athlete);
    return athlete;
  }

  record(athlete: Athlete, order: SleepOrder): WhoopSleep {
    const seed = this.athletes.nextNightSeed(athlete);
    const state = initialState(order);
    const profile = this.athletes.profileOf(athlete);
    const night = planNight(profile, { ...order, state }, seed, this.core.clock.nowMs());
    const sleep = this.journal.add(athlete.id, night, state, order.sparse ?? false);
    this.tellUpdated(sleep);
    if (order.score_after_seconds !== undefined) {
      const { clock } = this.core;
      const dueAtMs = clock.nowMs() + clock.scaledMs(order.score_after_seconds * 1000);
      this.scoreLater({ sleepId: sleep.id, dueAtMs, score: order.score });
    }
    return sleep;
  }

  revise(sleep: WhoopSleep, order: SleepOrder): WhoopSleep {
    const state = order.state ?? (order.score ? 'SCORED' : sleep.scoreState);
    const revised = this.journal.revise(sleep, {
      night: reviseNight(sleep.night, { ...order, state }, this.core.clock.nowMs()),
      scoreState: state,
      isSparse: order.sparse ?? sleep.isSparse,
    });
    this.tellUpdated(revised);
    return revised;
  }

  /** Deleting a sleep also deletes its recovery. */
  remove(sleep: WhoopSleep): void {
    this.journal.remove(sleep);
    this.tell(sleep, 'sleep.deleted');
    if (!sleep.night.nap) this.tell(sleep, 'recovery.deleted');
  }

  private fillPast(athlete: Athlete): void {
    this.journal.fill(athlete.id, this.athletes.pastOf(athlete), SCORED_AFTER_WAKING_MS);
  }

  private restoreSleep({ journal, scorings }: SavedSleep): void {
    const athleteOf = (id: string) => this.athletes.find(id)!;
    this.journal.restore(
      journal,
      (id) => this.fillPast(athleteOf(id)),
      (id) => this.athletes.profileOf(athleteOf(id)),
    );
    scorings.forEach((scoring) => this.scoreLater(scoring));
  }

  private scoreLater(scoring: Scoring): void {
    const delayMs = Math.max(0, scoring.dueAtMs - this.core.clock.nowMs());
    const cancel = this.core.clock.after(delayMs, () => {
      this.scorings.delete(scoring);
      const sleep = this.journal.sleep(scoring.sleepId);
      if (sleep?.scoreState === 'PENDING_SCORE')
        this.revise(sleep, { state: 'SCORED', score: scoring.score });
    });
    this.scorings.set(scoring, cancel);
  }

  /** An edit of a main sleep sends two events. A nap or a sleep with a pending score has no recovery, so it sends one event. */
  private tellUpdated(sleep: WhoopSleep): void {
    this.tell(sleep, 'sleep.updated');
    if (!sleep.night.nap && sleep.scoreState !== 'PENDING_SCORE') this.tell(sleep, 'recovery.updated');
  }

  /** WHOOP sends events only for athletes with a grant that is not revoked. */
  private tell({ athleteId, id }: WhoopSleep, type: EventType): void {
    if (this.tokens.isConnected(athleteId)) this.events.publish(athleteId, id, type);
  }
}

function initialState({ state, score, score_after_seconds: scoreAfter }: SleepOrder): ScoreState {
  if (state !== undefined) return state;
  if (scoreAfter !== undefined) return 'PENDING_SCORE';
  return score === null ? 'UNSCORABLE' : 'SCORED';
}

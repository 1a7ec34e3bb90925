import { type Athlete, type Core, type TokenPair, type TokenStore } from '../core/index.js';
import { ClientApp } from '../wearables/client-app.js';
import { Habits } from '../wearables/habits.js';
import { planNight, reviseNight, type SleepOrder } from '../wearables/plan-night.js';
import { vendorTokens } from '../wearables/vendor-tokens.js';
import { WearableAthletes } from '../wearables/wearable-athletes.js';
import { ExerciseLog, type PolarExercise, type SavedLog } from './exercise-log.js';
import { type ExerciseEdit, makeExercise, pastExercises } from './exercise-order.js';
import { NightLog, type PolarNight, type SavedNights } from './night-log.js';
import { dateOf } from './night-document.js';
import { DEFAULT_HABITS, EXERCISE_DAYS, PolarHabits, SLEEP_DAYS, UPLOADED_AFTER_MS } from './polar-facts.js';
import { type Registration, Registrations } from './registrations.js';
import { SpentCodes } from './spent-codes.js';
import { Webhook } from './webhook.js';

const DAY_MS = 86_400_000;
const API = 'https://www.polaraccesslink.com/v3';

interface SavedRecords {
  readonly pastExercises: readonly (readonly [string, number])[];
  readonly exercises: SavedLog;
  readonly nights: SavedNights;
}

/** The state of the simulated Polar. Each change that sends an event to the app is a method here. */
export class Polar {
  readonly client: ClientApp;
  readonly habits: Habits<typeof PolarHabits>;
  readonly tokens: TokenStore;
  readonly athletes: WearableAthletes;
  readonly registrations: Registrations;
  readonly exercises = new ExerciseLog();
  readonly nights: NightLog;
  readonly webhook: Webhook;
  private readonly spentCodes = new SpentCodes();
  /** Number of sessions before the athlete was created, by athlete. */
  private readonly pastExercises = new Map<string, number>();

  constructor(readonly core: Core) {
    const { clock, memory, world } = core;
    this.client = new ClientApp(core, 'polar');
    this.habits = new Habits(core, 'polar', PolarHabits, DEFAULT_HABITS);
    this.tokens = vendorTokens(core, 'polar', () => ({
      lifetimeSeconds: this.habits.now.access_token_seconds,
      rotates: false,
    }));
    this.athletes = new WearableAthletes(core, 'polar');
    this.registrations = new Registrations(
      () => clock.nowMs(),
      () => clock.scaledMs(this.habits.now.users_counted_every_seconds * 1000),
    );
    this.nights = new NightLog(() => clock.nowMs());
    // The webhook belongs to the app, so a reset of the world keeps it.
    this.webhook = new Webhook(core, this.habits);
    world.onReset(() => {
      this.registrations.clear();
      this.exercises.clear();
      this.nights.clear();
      this.spentCodes.clear();
      this.pastExercises.clear();
      this.webhook.forgetDeliveries();
    });
    memory.keep('polar users', this.registrations);
    memory.keep('polar codes', this.spentCodes);
    memory.keep('polar webhook', this.webhook);
    memory.keep('polar records', {
      save: () => ({
        pastExercises: [...this.pastExercises],
        exercises: this.exercises.save(),
        nights: this.nights.save(),
      }),
      restore: (saved: SavedRecords) => this.restoreRecords(saved),
    });
  }

  addAthlete({
    exercises,
    nights,
    ...order
  }: {
    exercises: number;
    nights: number;
    id?: string;
    seed?: number;
  }): Athlete {
    const athlete = this.athletes.add({ nights, ...order });
    this.pastExercises.set(athlete.id, exercises);
    this.fillPast(athlete);
    return athlete;
  }

  /** Undefined for a code that is unknown, used or asked for with another redirect URL. A second use deletes tokens. */
  exchange(code: string, redirectUri: string | undefined): TokenPair | undefined {
    const askedRedirect = this.tokens.redirectOfCode(code);
    if (askedRedirect !== undefined && askedRedirect !== redirectUri) return undefined;
    const pair = this.tokens.exchange(code);
    if (!pair) {
      this.punishReuse(code);
      return undefined;
    }
    const { athleteId, accessToken } = pair;
    if (this.habits.now.new_token_revokes_old)
      this.spentCodes.tokensOf(athleteId).forEach((older) => this.tokens.revoke(older));
    this.spentCodes.add({ code, athleteId, accessToken });
    return pair;
  }

  /** Ends all grants of the athlete. Polar sends no event; the next call answers `revoked_status`. */
  revoke(athleteId: string): void {
    this.tokens.revokeAthlete(athleteId);
    if (this.habits.now.revocation_unregisters) this.registrations.remove(athleteId);
  }

  /** Sessions of the last 30 days that were uploaded after the registration, in the order of upload. */
  visibleExercises({ athleteId, atMs }: Registration): PolarExercise[] {
    const fromMs = Math.max(atMs, this.core.clock.nowMs() - EXERCISE_DAYS * DAY_MS);
    return this.exercises
      .of(athleteId)
      .filter(({ uploadedAtMs, activity }) => uploadedAtMs >= fromMs && this.isDelivered(activity));
  }

  /** The night of a date in Polar's sense, visible or not. */
  nightOn(athleteId: string, date: string): PolarNight | undefined {
    return this.nights.of(athleteId).find(({ night }) => dateOf(night, this.habits.now) === date);
  }

  /** Nights of the last 28 days that were uploaded after the registration, oldest first. */
  visibleNights({ athleteId, atMs }: Registration): PolarNight[] {
    const firstDay = new Date(this.core.clock.nowMs() - SLEEP_DAYS * DAY_MS).toISOString().slice(0, 10);
    return this.nights
      .of(athleteId)
      .filter(({ night, createdAtMs }) => night.day >= firstDay && createdAtMs >= atMs);
  }

  upload(athlete: Athlete, order: unknown): PolarExercise {
    const exercise = makeExercise(this.core, this.exercises.takeNumber(), athlete, order);
    this.exercises.put(exercise);
    if (this.isDelivered(exercise.activity)) this.tellExercise(exercise);
    return exercise;
  }

  edit(exercise: PolarExercise, { name, sport_type, ...changes }: ExerciseEdit): PolarExercise {
    if (this.habits.now.edits_and_deletions === 'ignored') return exercise;
    const { sport, detailed_sport_info: detailedSport, calories } = changes;
    const overrides = { ...exercise.activity.overrides, ...given({ name, sport_type }) };
    const edited = this.exercises.put({
      ...exercise,
      activity: { ...exercise.activity, overrides },
      form: { ...exercise.form, ...given({ sport, detailedSport, calories }) },
      version: exercise.version + 1,
    });
    if (this.habits.now.edits_send_events) this.tellExercise(edited);
    return edited;
  }

  removeExercise({ id }: PolarExercise): void {
    if (this.habits.now.edits_and_deletions === 'applied') this.exercises.remove(id);
  }

  recordNight(athlete: Athlete, order: SleepOrder): PolarNight {
    const seed = this.athletes.nextNightSeed(athlete);
    const night = planNight(this.athletes.profileOf(athlete), order, seed, this.core.clock.nowMs());
    const record = this.nights.add(athlete.id, night, order.sparse ?? false);
    this.tellNight(record);
    return record;
  }

  reviseNight(record: PolarNight, order: SleepOrder): PolarNight {
    if (this.habits.now.edits_and_deletions === 'ignored') return record;
    const revised = this.nights.revise(record, {
      night: reviseNight(record.night, order, this.core.clock.nowMs()),
      isSparse: order.sparse ?? record.isSparse,
    });
    if (this.habits.now.edits_send_events) this.tellNight(revised);
    return revised;
  }

  removeNight(record: PolarNight): void {
    if (this.habits.now.edits_and_deletions === 'applied') this.nights.remove(record);
  }

  private isDelivered({ manual }: PolarExercise['activity']): boolean {
    return !manual || this.habits.now.manual_sessions_delivered;
  }

  private punishReuse(code: string): void {
    const spent = this.spentCodes.find(code);
    if (!spent) return;
    if (this.habits.now.reused_code_deletes === 'all_tokens') this.tokens.revokeAthlete(spent.athleteId);
    else this.tokens.revoke(spent.accessToken);
  }

  private tellExercise({ athleteId, id }: PolarExercise): void {
    if (!this.isTold(athleteId)) return;
    this.webhook.publish({
      event: 'EXERCISE',
      user_id: Number(athleteId),
      entity_id: id,
      url: `${API}/exercises/${id}`,
    });
  }

  private tellNight({ athleteId, night }: PolarNight): void {
    if (!this.isTold(athleteId)) return;
    const date = dateOf(night, this.habits.now);
    const url = `${API}/users/sleep/${date}`;
    this.webhook.publish({ event: 'SLEEP', user_id: Number(athleteId), date, url });
  }

  /** Polar sends events of registered users with a grant that is not revoked, and by habit of former users too. */
  private isTold(athleteId: string): boolean {
    if (this.habits.now.events_after_revocation) return this.spentCodes.tokensOf(athleteId).length > 0;
    return this.registrations.of(athleteId) !== undefined && this.tokens.isConnected(athleteId);
  }

  private fillPast(athlete: Athlete): void {
    this.exercises.fillPast(athlete.id, pastExercises(athlete, this.pastExercises.get(athlete.id) ?? 0));
    this.nights.fillPast(athlete.id, this.athletes.pastOf(athlete), UPLOADED_AFTER_MS);
  }

  private restoreRecords({ pastExercises, exercises, nights }: SavedRecords): void {
    for (const [id, count] of pastExercises) {
      this.pastExercises.set(id, count);
      this.fillPast(this.athletes.find(id)!);
    }
    this.exercises.restore(exercises, ({ vendor, id }) => this.core.world.athlete(vendor, id)!.profile);
    this.nights.restore(nights, (id) => this.athletes.profileOf(this.athletes.find(id)!));
  }
}

/** The fields that an edit names. */
function given<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>;
}

import { createHash } from 'node:crypto';
import { type Activity, type AthleteProfile } from '#training-world';
import { type Vendor } from '../core/index.js';

/** How Polar's watch recorded a workout, where it differs from the plan or from another vendor's recording. */
export interface RecordingForm {
  /** Factors on the plan's duration and distance; 1 unless the workout is also at another vendor. */
  readonly durationFactor: number;
  readonly distanceFactor: number;
  /** Milliseconds on top of the whole seconds. */
  readonly extraMs: number;
  /** True: another watch measures the same workout, so heart rate and altitude differ a little. */
  readonly isTwin: boolean;
  /** True: the document has only the fields without which a session makes no sense. */
  readonly isSparse: boolean;
  /** Overrides of Polar's names; null is JSON null. */
  readonly sport?: string | null;
  readonly detailedSport?: string | null;
  readonly calories?: number;
  /** Seconds between two samples, and exceptions by sample type. */
  readonly rate: number;
  readonly rates: Readonly<Record<string, number>>;
  readonly hasRr: boolean;
  /** Seconds without heart rate in the middle of the session. */
  readonly gapS: number;
}

export interface PolarExercise {
  readonly id: string;
  readonly athleteId: string;
  /** Profile that the workout was planned for: with a workout of another vendor, that vendor's athlete. */
  readonly plannedFor: { readonly vendor: Vendor; readonly id: string };
  readonly activity: Activity;
  readonly form: RecordingForm;
  readonly uploadedAtMs: number;
  readonly version: number;
}

type SavedExercise = Omit<PolarExercise, 'activity'> & { readonly activity: Omit<Activity, 'athlete'> };

export interface SavedLog {
  readonly made: readonly SavedExercise[];
  readonly nextNumber: number;
}

/**
 * The sessions of all athletes by id. Only ordered sessions are saved; the past follows from the seed. The past never
 * changes: its sessions are older than any registration, so no answer contains their ids.
 */
export class ExerciseLog {
  private readonly past = new Map<string, readonly PolarExercise[]>();
  private readonly made = new Map<string, PolarExercise>();
  private nextNumber = 1;

  clear(): void {
    this.past.clear();
    this.made.clear();
    this.nextNumber = 1;
  }

  save(): SavedLog {
    const made = [...this.made.values()].map(({ activity: { athlete: _athlete, ...activity }, ...own }) => ({
      ...own,
      activity,
    }));
    return { made, nextNumber: this.nextNumber };
  }

  restore(
    { made, nextNumber }: SavedLog,
    profileOf: (planned: PolarExercise['plannedFor']) => AthleteProfile,
  ): void {
    for (const { activity, ...own } of made) {
      const athlete = profileOf(own.plannedFor);
      // The course compares the place with the athlete's home by identity.
      const place = activity.place.city === athlete.place.city ? athlete.place : activity.place;
      this.put({ ...own, activity: { ...activity, athlete, place } });
    }
    this.nextNumber = nextNumber;
  }

  fillPast(athleteId: string, exercises: readonly PolarExercise[]): void {
    this.past.set(athleteId, exercises);
  }

  /** A number that no ordered session has; it becomes the id of the planned activity. */
  takeNumber(): number {
    return this.nextNumber++;
  }

  put(exercise: PolarExercise): PolarExercise {
    this.made.set(exercise.id, exercise);
    return exercise;
  }

  remove(id: string): void {
    this.made.delete(id);
  }

  find(id: string): PolarExercise | undefined {
    return this.made.get(id);
  }

  /** In the order of upload. */
  of(athleteId: string): PolarExercise[] {
    const made = [...this.made.values()].filter((exercise) => exercise.athleteId === athleteId);
    return [...(this.past.get(athleteId) ?? []), ...made].sort((a, b) => a.uploadedAtMs - b.uploadedAtMs);
  }
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const SIGNS = `${LETTERS}0123456789`;

/** `aQlC837`: eight characters, case-sensitive. The first is a letter, so it is no id of Strava. */
export function exerciseIdOf(...parts: readonly (string | number)[]): string {
  const bytes = digestOf('exercise', ...parts).subarray(0, 8);
  return [...bytes].map((byte, at) => (at === 0 ? pick(LETTERS, byte) : pick(SIGNS, byte))).join('');
}

/** A number in [0, 1) that depends on its arguments only. */
export function chanceOf(...parts: readonly (string | number)[]): number {
  return digestOf(...parts).readUInt32BE() / 2 ** 32;
}

function digestOf(...parts: readonly (string | number)[]): Buffer {
  return createHash('sha256').update(parts.join('/')).digest();
}

function pick(signs: string, byte: number): string {
  return signs[byte % signs.length]!;
}

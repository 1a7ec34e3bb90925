import { ApiProperty } from '@nestjs/swagger';
import { type Profile, PROFILES, type SegmentKind } from '#run-shape';

const SEGMENT_KINDS: readonly SegmentKind[] = ['warmup', 'work', 'recovery', 'climb', 'steady', 'cooldown'];
// These profiles are detected by their repetitions, so they always have some.
const REPEATED = ['intervals', 'hills'] as const satisfies readonly Profile[];
const OTHERS = PROFILES.filter(
  (profile) => profile !== 'intervals' && profile !== 'hills' && profile !== 'swim',
);

class SegmentAnswer {
  @ApiProperty({ enum: SEGMENT_KINDS })
  kind: SegmentKind;

  @ApiProperty({ description: 'Seconds since the first sample' })
  from_s: number;

  @ApiProperty({ description: 'Seconds since the first sample' })
  to_s: number;

  @ApiProperty({ description: 'Seconds without pauses' })
  moving_s: number;

  @ApiProperty({ type: Number, nullable: true, description: 'Metres' })
  distance_m: number | null;

  @ApiProperty({ type: Number, nullable: true })
  average_pace_s_per_km: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Beats a minute' })
  average_heartrate: number | null;

  @ApiProperty({ type: Number, nullable: true })
  average_watts: number | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: '1 for the first; a recovery has the number of the repetition before it',
  })
  repetition: number | null;
}

class RepetitionsAnswer {
  @ApiProperty({ type: 'integer', minimum: 2 })
  count: number;

  @ApiProperty({
    type: Number,
    nullable: true,
    description: 'Distance of each repetition in metres; null if they differ',
  })
  distance_m: number | null;

  @ApiProperty({
    type: Number,
    nullable: true,
    description: 'Duration of each repetition in seconds; null if they differ',
  })
  duration_s: number | null;

  @ApiProperty({ type: Number, nullable: true })
  average_pace_s_per_km: number | null;

  @ApiProperty({ type: Number, nullable: true })
  average_watts: number | null;

  @ApiProperty({
    type: Number,
    nullable: true,
    description: 'Standard deviation of the repetitions’ pace (power for a ride), in percent of the mean',
  })
  spread_percent: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Seconds between two repetitions' })
  recovery_s: number | null;

  @ApiProperty({ type: String, enum: ['active', 'standing'], nullable: true })
  recovery: string | null;
}

class ClimbAnswer {
  @ApiProperty({ description: 'Seconds since the first sample' })
  from_s: number;

  @ApiProperty({ description: 'Seconds since the first sample' })
  to_s: number;

  @ApiProperty()
  gain_m: number;

  @ApiProperty()
  distance_m: number;

  @ApiProperty()
  grade_percent: number;
}

/** The result of the built-in processor. */
abstract class ShapeAnswer {
  @ApiProperty({
    type: 'integer',
    description: 'Version of the rules; under one version, the same recording always has the same shape',
  })
  version: number;

  @ApiProperty({ example: '6 × 800 m' })
  title: string;

  @ApiProperty()
  description: string;

  @ApiProperty({
    type: [SegmentAnswer],
    description: 'The segments follow one another without gaps. The list is empty if nothing was recorded',
  })
  segments: readonly SegmentAnswer[];

  @ApiProperty({ type: [ClimbAnswer] })
  climbs: readonly ClimbAnswer[];

  @ApiProperty({
    type: Number,
    nullable: true,
    description: 'Rise of the heart rate for the same effort, from the first half to the second, in percent',
  })
  heart_rate_drift_percent: number | null;

  @ApiProperty({ description: 'SHA-256 of all other fields' })
  hash: string;
}

/** A session of repetitions. */
export class RepeatedShape extends ShapeAnswer {
  @ApiProperty({ enum: REPEATED })
  profile: string;

  @ApiProperty({ type: RepetitionsAnswer })
  repetitions: RepetitionsAnswer;
}

export class SwimShape extends ShapeAnswer {
  @ApiProperty({ enum: ['swim'] })
  profile: string;

  @ApiProperty({ type: RepetitionsAnswer, nullable: true })
  repetitions: RepetitionsAnswer | null;
}

/** A session without repetitions. */
export class OtherShape extends ShapeAnswer {
  @ApiProperty({ enum: OTHERS })
  profile: string;

  @ApiProperty({ type: 'null' })
  repetitions: null;
}

import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { JOB_STATUSES } from '#processing';
import { OtherShape, RepeatedShape, SwimShape } from './run-shape.dto.js';

export const REQUEST_KINDS = ['auto_poll', 'manual_latest', 'manual_activity'];

export class RunAnswer {
  @ApiProperty({ format: 'uuid' })
  run_id: string;

  @ApiProperty({ type: 'integer', description: '1 for the first' })
  attempt_number: number;

  @ApiProperty({ enum: JOB_STATUSES.filter((status) => status !== 'queued' && status !== 'claimed') })
  status: string;

  @ApiProperty({ format: 'date-time' })
  started_at: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  finished_at: string | null;

  @ApiProperty({ type: String, nullable: true })
  error: string | null;
}

class JobFields {
  @ApiProperty({ format: 'uuid' })
  job_id: string;

  @ApiProperty({ enum: REQUEST_KINDS, description: '`auto_poll`: created without a request' })
  request_kind: string;

  @ApiProperty({ description: 'Whether an activity that was processed before is processed again' })
  force_update: boolean;

  @ApiProperty({ enum: JOB_STATUSES })
  status: string;

  @ApiProperty({ type: 'integer' })
  attempt_count: number;

  @ApiProperty({ type: 'integer' })
  max_attempts: number;

  @ApiProperty({ type: String, nullable: true })
  last_error: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'streams',
    description:
      'The input that a job in `retry_wait` waits for. The wait uses no attempt. Null if the job does not wait for an input',
  })
  waits_for: string | null;

  @ApiProperty({ type: [RunAnswer] })
  runs: readonly RunAnswer[];
}

export class JobAnswer extends JobFields {
  @ApiProperty({ format: 'uuid' })
  activity_id: string;
}

/** A job of one activity, which the answer around it names. */
export class TimelineJobAnswer extends JobFields {
  @ApiProperty({ example: 'worker' })
  requested_by: string;

  @ApiProperty({ type: String, format: 'date-time' })
  requested_at: Date;

  @ApiProperty({ type: String, format: 'date-time', description: 'The earliest start' })
  available_at: Date;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  finished_at: Date | null;
}

class WriteBackAnswer {
  @ApiProperty({ enum: ['pending', 'writing', 'written', 'left', 'refused'] })
  status: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Why title and description are not written, or not yet',
  })
  reason: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  finished_at: Date | null;
}

export class StateQuery {
  @ApiPropertyOptional({
    enum: ['true', 'false'],
    default: 'false',
    description: 'Whether the answer has `jobs`',
  })
  @IsOptional()
  @IsIn(['true', 'false'])
  jobs?: 'true' | 'false';
}

@ApiExtraModels(RepeatedShape, SwimShape, OtherShape)
export class ActivityStateAnswer {
  @ApiProperty({ format: 'uuid' })
  activity_id: string;

  @ApiProperty({
    type: String,
    enum: JOB_STATUSES,
    nullable: true,
    description: 'State of the activity’s last job; null before the first job',
  })
  state: string | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  last_job_id: string | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  last_run_id: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'intervals',
    description: 'The kind of session, as the processor names it',
  })
  last_profile_id: string | null;

  @ApiProperty({ type: String, nullable: true, example: '6 × 800 m' })
  last_title: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'SHA-256 of the description in `result`' })
  last_description_hash: string | null;

  @ApiProperty({ type: String, enum: JOB_STATUSES, nullable: true })
  last_result_status: string | null;

  @ApiProperty({ type: String, nullable: true })
  last_error: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  updated_at: Date | null;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'streams',
    description: 'The input that the activity’s last job waits for',
  })
  waits_for: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description:
      'In `retry_wait`: the latest time at which the last job becomes due again. A request, or the arrival of the input `waits_for`, makes the job due earlier',
  })
  next_attempt_at: Date | null;

  @ApiProperty({
    anyOf: [
      { $ref: getSchemaPath(RepeatedShape) },
      { $ref: getSchemaPath(SwimShape) },
      { $ref: getSchemaPath(OtherShape) },
      { type: 'object', additionalProperties: true, description: 'The result of a processor of your own' },
    ],
    nullable: true,
    description:
      'The latest result of a run. `profile` is the discriminator of the built-in processor’s results',
  })
  result: unknown;

  @ApiProperty({
    type: WriteBackAnswer,
    nullable: true,
    description: 'State of writing the title and description to the vendor; null if nothing is to be written',
  })
  write_back: WriteBackAnswer | null;

  @ApiPropertyOptional({
    type: [TimelineJobAnswer],
    description: 'With `?jobs=true`: the newest 20 jobs with their runs, newest first',
  })
  jobs?: readonly TimelineJobAnswer[];
}

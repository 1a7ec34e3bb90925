import { ApiProperty } from '@nestjs/swagger';
import { JOB_STATUSES } from '#jobs';

export const REQUEST_KINDS = ['auto_poll', 'manual_latest', 'manual_activity'];

class RunAnswer {
  @ApiProperty({ format: 'uuid' })
  run_id: string;

  @ApiProperty()
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

export class JobAnswer {
  @ApiProperty({ format: 'uuid' })
  job_id: string;

  @ApiProperty({ format: 'uuid' })
  activity_id: string;

  @ApiProperty({ enum: REQUEST_KINDS })
  request_kind: string;

  @ApiProperty({ description: 'also what has been processed already' })
  force_update: boolean;

  @ApiProperty({ enum: JOB_STATUSES })
  status: string;

  @ApiProperty()
  attempt_count: number;

  @ApiProperty()
  max_attempts: number;

  @ApiProperty({ type: String, nullable: true })
  last_error: string | null;

  @ApiProperty({ type: [RunAnswer] })
  runs: readonly RunAnswer[];
}

class WriteBackAnswer {
  @ApiProperty({ enum: ['pending', 'writing', 'written', 'left', 'refused'] })
  status: string;

  @ApiProperty({ type: String, nullable: true, description: 'why not, or why not yet' })
  reason: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  finished_at: Date | null;
}

export class ActivityStateAnswer {
  @ApiProperty({ format: 'uuid' })
  activity_id: string;

  @ApiProperty({
    type: String,
    enum: JOB_STATUSES,
    nullable: true,
    description: 'of its last job; null before the first',
  })
  state: string | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  last_job_id: string | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  last_run_id: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'intervals' })
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
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'What the processor found when it last succeeded: profile, title, description, segments, …',
  })
  result: unknown;

  @ApiProperty({
    type: WriteBackAnswer,
    nullable: true,
    description: 'Whether title and description are at the vendor; null where they are not to be',
  })
  write_back: WriteBackAnswer | null;
}

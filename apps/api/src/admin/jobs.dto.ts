import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsUUID } from 'class-validator';
import { JOB_STATUSES, type JobStatus } from '#processing';
import { NumericCursor, PageCursor, PageLimit } from '../page-query.js';
import { REQUEST_KINDS } from '../processing/processing.dto.js';

export class JobsQuery {
  @ApiPropertyOptional({ enum: JOB_STATUSES, description: 'Only jobs with this status' })
  @IsOptional()
  @IsIn(JOB_STATUSES)
  status?: JobStatus;

  @ApiPropertyOptional({ format: 'uuid', description: 'Only jobs of this activity' })
  @IsOptional()
  @IsUUID()
  activity_id?: string;

  @ApiPropertyOptional({ format: 'uuid', description: 'Only jobs of this athlete’s activities' })
  @IsOptional()
  @IsUUID()
  athlete_id?: string;

  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @PageCursor()
  cursor?: string;
}

class ListedJobAnswer {
  @ApiProperty({ format: 'uuid' })
  job_id: string;

  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ format: 'uuid' })
  activity_id: string;

  @ApiProperty({ enum: REQUEST_KINDS })
  request_kind: string;

  @ApiProperty({ example: 'worker' })
  requested_by: string;

  @ApiProperty()
  force_update: boolean;

  @ApiProperty({ type: 'integer', description: 'A job with a higher priority runs earlier' })
  priority: number;

  @ApiProperty({ enum: JOB_STATUSES })
  status: string;

  @ApiProperty({ type: 'integer' })
  attempt_count: number;

  @ApiProperty({ type: 'integer' })
  max_attempts: number;

  @ApiProperty({ type: String, format: 'date-time' })
  requested_at: Date;

  @ApiProperty({ type: String, format: 'date-time', description: 'The earliest start' })
  available_at: Date;

  @ApiProperty({ type: String, nullable: true, description: 'The worker that has claimed the job' })
  lease_owner: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  lease_expires_at: Date | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  started_at: Date | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  finished_at: Date | null;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  run_id: string | null;

  @ApiProperty({ type: String, nullable: true })
  last_error: string | null;
}

export class JobsAnswer {
  @ApiProperty({ type: [ListedJobAnswer] })
  items: readonly ListedJobAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

export class SnapshotsQuery {
  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @NumericCursor({ least: 1 })
  cursor?: number;
}

class SnapshotAnswer {
  @ApiProperty({ type: 'integer' })
  snapshot_id: number;

  @ApiProperty({ example: 'worker' })
  source: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { processor: 'run-shape', concurrency: 16 },
  })
  payload: Readonly<Record<string, unknown>>;

  @ApiProperty({ type: String, format: 'date-time' })
  created_at: Date;
}

export class SnapshotsAnswer {
  @ApiProperty({ type: [SnapshotAnswer] })
  items: readonly SnapshotAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

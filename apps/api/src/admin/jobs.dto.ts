import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { JOB_STATUSES, type JobStatus } from '#jobs';

export class JobsQuery {
  @ApiPropertyOptional({ enum: JOB_STATUSES })
  @IsOptional()
  @IsIn(JOB_STATUSES)
  status?: JobStatus;

  @ApiPropertyOptional({ minimum: 1, maximum: 200, default: 50 })
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(200)
  limit = 50;

  @ApiPropertyOptional({ description: 'next_cursor of the page before' })
  @IsOptional()
  @IsString()
  @Length(1, 200)
  cursor?: string;
}

export class ListedJobAnswer {
  @ApiProperty({ format: 'uuid' })
  job_id: string;

  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ format: 'uuid' })
  activity_id: string;

  @ApiProperty({ enum: ['auto_poll', 'manual_latest', 'manual_activity'] })
  request_kind: string;

  @ApiProperty({ example: 'worker' })
  requested_by: string;

  @ApiProperty()
  force_update: boolean;

  @ApiProperty({ description: 'the higher, the sooner' })
  priority: number;

  @ApiProperty({ enum: JOB_STATUSES })
  status: string;

  @ApiProperty()
  attempt_count: number;

  @ApiProperty()
  max_attempts: number;

  @ApiProperty({ format: 'date-time' })
  requested_at: Date;

  @ApiProperty({ format: 'date-time', description: 'not begun before' })
  available_at: Date;

  @ApiProperty({ type: String, nullable: true, description: 'the worker that has it' })
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
  @ApiPropertyOptional({ minimum: 1, maximum: 200, default: 50 })
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(200)
  limit = 50;

  @ApiPropertyOptional({ description: 'next_cursor of the page before', type: String })
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(Number.MAX_SAFE_INTEGER)
  cursor?: number;
}

class SnapshotAnswer {
  @ApiProperty()
  snapshot_id: number;

  @ApiProperty({ example: 'worker' })
  source: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { processor: 'run-shape', concurrency: 16 },
  })
  payload: Readonly<Record<string, unknown>>;

  @ApiProperty({ format: 'date-time' })
  created_at: Date;
}

export class SnapshotsAnswer {
  @ApiProperty({ type: [SnapshotAnswer] })
  items: readonly SnapshotAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, IsUUID, Length } from 'class-validator';

const LONGEST_REASON = 500;

export class FailuresQuery {
  @ApiPropertyOptional({ description: 'Only this reason', maxLength: LONGEST_REASON })
  @IsOptional()
  @IsString()
  @Length(1, LONGEST_REASON)
  error?: string;
}

class FailedActivityAnswer {
  @ApiProperty({ format: 'uuid' })
  activity_id: string;

  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({ example: 'Morning Run' })
  name: string;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Null: the attempts are used up, and only a reset makes the fetch due again',
  })
  retry_at: Date | null;
}

class FailureGroupAnswer {
  @ApiProperty({ example: 'Strava answered 500' })
  error: string;

  @ApiProperty({ type: 'integer', description: 'Activities whose streams failed for this reason' })
  count: number;

  @ApiProperty({ type: 'integer', description: 'Activities whose attempts are used up' })
  stuck: number;

  @ApiProperty({ type: 'integer', description: 'Activities that are retried without a reset' })
  retrying: number;

  @ApiProperty({
    type: String,
    format: 'date-time',
    description: 'The last attempt of the activity that was attempted longest ago',
  })
  oldest_at: Date;

  @ApiProperty({
    type: String,
    format: 'date-time',
    description: 'The last attempt of the activity that was attempted most recently',
  })
  newest_at: Date;

  @ApiProperty({ type: [FailedActivityAnswer], description: 'At most five, latest attempt first' })
  samples: readonly FailedActivityAnswer[];
}

export class FailuresAnswer {
  @ApiProperty({ type: [FailureGroupAnswer] })
  items: readonly FailureGroupAnswer[];

  @ApiProperty({ type: String, nullable: true, description: 'Always null: the list has 100 reasons at most' })
  next_cursor: string | null;
}

export class StreamsFilter {
  @ApiPropertyOptional({ description: 'Only fetches that failed for this reason', maxLength: LONGEST_REASON })
  @IsOptional()
  @IsString()
  @Length(1, LONGEST_REASON)
  error?: string;

  @ApiPropertyOptional({ format: 'uuid', description: 'Only fetches of this athlete' })
  @IsOptional()
  @IsUUID()
  athlete_id?: string;
}

export class ResetAnswer {
  @ApiProperty({ type: 'integer', description: 'How many fetches matched when the request came' })
  matched: number;
}

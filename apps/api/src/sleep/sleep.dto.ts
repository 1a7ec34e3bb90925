import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, Max, Min, ValidateBy } from 'class-validator';
import { isCalendarDate } from '#sleep';

/** For the description only: the contract's own schema checks what arrives. */
export class SleepIngestRequest {
  @ApiProperty({ example: 'user-456' })
  userId: string;

  @ApiProperty({ format: 'date', example: '2025-10-02', description: 'the local date of waking' })
  date: string;

  @ApiProperty({ type: 'integer', minimum: 0, maximum: 1440, example: 420 })
  durationMinutes: number;

  @ApiPropertyOptional({
    format: 'date-time',
    description: 'a later one replaces what is known of the night; absent: now',
  })
  capturedAt?: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { source: 'oura', qualityScore: 85 },
    description: 'the vendor record as it came, at most 64 KB',
  })
  raw?: Record<string, unknown>;
}

export class SleepIngestAnswer {
  @ApiProperty({ example: 'Sleep data received' })
  message: string;

  @ApiProperty({ format: 'uuid' })
  eventId: string;
}

/** A date that there is; class-validator's own would take others for it. */
const IsCalendarDate = () =>
  ValidateBy({
    name: 'isCalendarDate',
    validator: {
      validate: (value) => typeof value === 'string' && isCalendarDate(value),
      defaultMessage: () => 'must be a date as 2025-10-02',
    },
  });

export class NightsQuery {
  @ApiPropertyOptional({ format: 'date', description: 'this date or later' })
  @IsOptional()
  @IsCalendarDate()
  from?: string;

  @ApiPropertyOptional({ format: 'date', description: 'this date or earlier' })
  @IsOptional()
  @IsCalendarDate()
  to?: string;

  @ApiPropertyOptional({ description: 'next_cursor of the page before' })
  @IsOptional()
  @IsCalendarDate()
  cursor?: string;

  @ApiPropertyOptional({ minimum: 1, maximum: 400, default: 100 })
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(400)
  limit = 100;
}

export class NightAnswer {
  @ApiProperty({ format: 'date' })
  date: string;

  @ApiProperty({ type: 'integer' })
  duration_minutes: number;

  @ApiProperty({ type: Number, nullable: true, minimum: 0, maximum: 100 })
  quality_score: number | null;

  @ApiProperty({ enum: ['oura', 'whoop', 'unknown'] })
  vendor: string;

  @ApiProperty({ format: 'date-time' })
  captured_at: Date;
}

export class NightsAnswer {
  @ApiProperty({ type: [NightAnswer] })
  items: readonly NightAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

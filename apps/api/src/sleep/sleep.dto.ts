import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, ValidateBy } from 'class-validator';
import { isCalendarDate, RECORD_REASONS } from '#sleep';
import { vendorsWith } from '#vendors';
import { PageLimit } from '../page-query.js';

/** Only describes the body. The event's own schema validates it. */
export class SleepIngestRequest {
  @ApiProperty({
    example: 'user-456',
    description: 'The `sub` of the athlete’s tokens; a UUID may be in upper or lower case',
  })
  userId: string;

  @ApiProperty({
    format: 'date',
    example: '2025-10-02',
    description: 'The local date of waking; at the latest tomorrow’s date in the time zone UTC+14',
  })
  date: string;

  @ApiProperty({ type: 'integer', minimum: 0, maximum: 1440, example: 420 })
  durationMinutes: number;

  @ApiPropertyOptional({
    format: 'date-time',
    description:
      'The time at which the source had this version of the night. The version with the later time wins. A time in the future counts as the time at which the night is received, which is also the default',
  })
  capturedAt?: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { source: 'oura', qualityScore: 85 },
    description: 'The vendor’s record as it came, at most 64 KB',
  })
  raw?: Record<string, unknown>;
}

export class SleepIngestAnswer {
  @ApiProperty({ example: 'Sleep data received' })
  message: string;

  @ApiProperty({ format: 'uuid' })
  eventId: string;
}

/** A date of the calendar. class-validator's own check also accepts 2026-02-31. */
const IsCalendarDate = () =>
  ValidateBy({
    name: 'isCalendarDate',
    validator: {
      validate: (value) => typeof value === 'string' && isCalendarDate(value),
      defaultMessage: () => 'must be a date as 2025-10-02',
    },
  });

export class NightsQuery {
  @ApiPropertyOptional({ format: 'date', description: 'Only nights of this date or later' })
  @IsOptional()
  @IsCalendarDate()
  from?: string;

  @ApiPropertyOptional({ format: 'date', description: 'Only nights of this date or earlier' })
  @IsOptional()
  @IsCalendarDate()
  to?: string;

  @ApiPropertyOptional({ format: 'date', description: '`next_cursor` of the previous page' })
  @IsOptional()
  @IsCalendarDate()
  cursor?: string;

  @PageLimit({ most: 400, otherwise: 100 })
  limit = 100;
}

class NightAnswer {
  @ApiProperty({ format: 'date', description: 'The local date of waking' })
  date: string;

  @ApiProperty({ type: 'integer' })
  duration_minutes: number;

  @ApiProperty({ type: Number, nullable: true, minimum: 0, maximum: 100 })
  quality_score: number | null;

  @ApiProperty({ enum: [...vendorsWith('sleep'), 'unknown'] })
  vendor: string;

  @ApiProperty({
    type: String,
    format: 'date-time',
    description: 'The time at which the source had this version of the night',
  })
  captured_at: Date;
}

class NightRecordAnswer {
  @ApiProperty({
    type: String,
    enum: vendorsWith('sleep'),
    nullable: true,
    description: 'Null: an app sent the record and named no vendor',
  })
  provider: string | null;

  @ApiProperty({ description: 'The vendor’s id of the record; the date for a record that an app sent' })
  external_id: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  start: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  end: string | null;

  @ApiProperty({ type: 'integer' })
  duration_minutes: number;

  @ApiProperty({ type: Number, nullable: true, minimum: 0, maximum: 100 })
  score: number | null;

  @ApiProperty({ type: String, format: 'date-time' })
  captured_at: Date;

  @ApiProperty({ description: 'Whether this record is the night' })
  is_chosen: boolean;

  @ApiProperty({
    enum: RECORD_REASONS,
    description:
      'Why the record is the night (`longest`), or why not. `vendor_preferred`: a vendor’s record wins over one that an app sent. `older`: as long as the night, and not captured later',
  })
  reason: string;
}

export class NightWithRecordsAnswer {
  @ApiProperty({ format: 'date', description: 'The local date of waking' })
  date: string;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Null if no record can be the night' })
  duration_minutes: number | null;

  @ApiProperty({ type: Number, nullable: true, minimum: 0, maximum: 100 })
  quality_score: number | null;

  @ApiProperty({ type: String, enum: [...vendorsWith('sleep'), 'unknown'], nullable: true })
  vendor: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  captured_at: Date | null;

  @ApiProperty({ type: [NightRecordAnswer], description: 'All records of the date, the chosen one first' })
  records: readonly NightRecordAnswer[];
}

export class NightDate {
  @ApiProperty({ format: 'date', example: '2025-10-02' })
  @IsCalendarDate()
  date: string;
}

export class NightsAnswer {
  @ApiProperty({ type: [NightAnswer] })
  items: readonly NightAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

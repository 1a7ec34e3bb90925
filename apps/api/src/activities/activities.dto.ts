import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsDate, IsInt, IsOptional, IsString, Length, Max, Min, MaxDate, MinDate } from 'class-validator';
import { EARLIEST, LATEST } from './dates.js';

export class ActivitiesQuery {
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

  @ApiPropertyOptional({ format: 'date-time', description: 'started at or after' })
  @IsOptional()
  @Type(() => Date)
  @IsDate()
  @MinDate(EARLIEST)
  @MaxDate(LATEST)
  from?: Date;

  @ApiPropertyOptional({ format: 'date-time', description: 'started before' })
  @IsOptional()
  @Type(() => Date)
  @IsDate()
  @MinDate(EARLIEST)
  @MaxDate(LATEST)
  to?: Date;

  @ApiPropertyOptional({ example: 'Run' })
  @IsOptional()
  @IsString()
  @Length(1, 60)
  sport_type?: string;
}

export class ActivityAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ type: String, nullable: true, description: "the vendor's" })
  external_activity_id: string | null;

  @ApiProperty()
  name: string;

  @ApiProperty({ example: 'Run' })
  sport_type: string;

  @ApiProperty({ format: 'date-time' })
  start_time: Date;

  @ApiProperty({ type: String, nullable: true, example: 'Europe/Berlin' })
  timezone: string | null;

  @ApiProperty()
  distance_m: number;

  @ApiProperty()
  moving_time_s: number;

  @ApiProperty()
  elapsed_time_s: number;

  @ApiProperty()
  elevation_gain_m: number;

  @ApiProperty({ type: Number, nullable: true })
  average_heartrate: number | null;

  @ApiProperty()
  manual: boolean;

  @ApiProperty({ enum: ['pending', 'fetching', 'success', 'failed', 'deferred', 'unavailable'] })
  stream_fetch_status: string;

  @ApiProperty({ type: 'array', items: { type: 'object' } })
  photos: readonly unknown[];
}

export class ActivitiesAnswer {
  @ApiProperty({ type: [ActivityAnswer] })
  items: readonly ActivityAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

class MapAnswer {
  @ApiProperty({ type: String, nullable: true })
  polyline: string | null;

  @ApiProperty({ type: String, nullable: true })
  summary_polyline: string | null;
}

export class ActivityDetailAnswer extends ActivityAnswer {
  @ApiProperty({ type: String, nullable: true })
  description: string | null;

  @ApiProperty({
    type: 'array',
    items: { type: 'object' },
    nullable: true,
    description: 'null until the detail is imported',
  })
  laps: readonly unknown[] | null;

  @ApiProperty({ type: 'array', items: { type: 'object' }, nullable: true })
  splits: readonly unknown[] | null;

  @ApiProperty({ type: MapAnswer })
  map: MapAnswer;
}

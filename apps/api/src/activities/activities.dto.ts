import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, Length } from 'class-validator';
import { type Provider, PROVIDERS } from '#connections';
import { FETCH_STATUSES } from '#streams';
import { PageCursor, PageLimit } from '../page-query.js';
import { IsDateTime } from './dates.js';

export class ActivitiesQuery {
  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @PageCursor()
  cursor?: string;

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    description: 'Only activities that started at this time or later',
  })
  @IsOptional()
  @IsDateTime()
  from?: Date;

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    description: 'Only activities that started before this time',
  })
  @IsOptional()
  @IsDateTime()
  to?: Date;

  @ApiPropertyOptional({ description: 'Only this sport, as the vendor spells it: `Run`' })
  @IsOptional()
  @IsString()
  @Length(1, 60)
  sport_type?: string;

  @ApiPropertyOptional({ enum: PROVIDERS, description: 'Only activities of this vendor' })
  @IsOptional()
  @IsIn(PROVIDERS)
  provider?: Provider;
}

class PhotoAnswer {
  @ApiProperty({ description: 'The vendor’s id' })
  id: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { 600: 'https://…/600.jpg', 2048: 'https://…/2048.jpg' },
    description: 'Addresses by the length of the longer side in pixels',
  })
  urls: Readonly<Record<string, string>>;

  @ApiProperty({ type: String, nullable: true })
  caption: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  taken_at: string | null;

  @ApiProperty({
    type: 'array',
    items: { type: 'number' },
    minItems: 2,
    maxItems: 2,
    nullable: true,
    description: 'Latitude and longitude in degrees',
  })
  location: readonly [number, number] | null;

  @ApiProperty({ description: 'True for the activity’s cover photo' })
  is_default: boolean;
}

class ActivityAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ enum: PROVIDERS, description: 'The vendor of the activity' })
  provider: Provider;

  @ApiProperty({ type: String, nullable: true, description: 'The vendor’s id' })
  external_activity_id: string | null;

  @ApiProperty({ description: 'The title' })
  name: string;

  @ApiProperty({ example: 'Run', description: 'The sport, as the vendor spells it' })
  sport_type: string;

  @ApiProperty({ type: String, format: 'date-time' })
  start_time: Date;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'Europe/Berlin',
    description: 'Time zone of the activity; null if the vendor does not say',
  })
  timezone: string | null;

  @ApiProperty({ description: 'Metres; 0 if the vendor does not say' })
  distance_m: number;

  @ApiProperty({
    type: 'integer',
    description: 'Seconds without pauses, or with pauses if the vendor does not report them',
  })
  moving_time_s: number;

  @ApiProperty({ type: 'integer', description: 'Seconds with pauses' })
  elapsed_time_s: number;

  @ApiProperty({ description: 'Metres climbed; 0 if the vendor does not say' })
  elevation_gain_m: number;

  @ApiProperty({ type: Number, nullable: true, description: 'Beats a minute' })
  average_heartrate: number | null;

  @ApiProperty({ description: 'True if the athlete typed the activity in. Such an activity has no streams' })
  manual: boolean;

  @ApiProperty({ enum: FETCH_STATUSES, description: 'State of the activity’s streams' })
  stream_fetch_status: string;

  @ApiProperty({ type: [PhotoAnswer] })
  photos: readonly PhotoAnswer[];

  @ApiProperty({
    type: [String],
    format: 'uuid',
    description:
      'The ids of the athlete’s activities from other vendors that are the same workout: the starts differ by at most 60 seconds, and the elapsed times by at most 5 %. Each of these activities lists this one, too. Empty if there are none',
  })
  same_as: readonly string[];
}

export class ActivitiesAnswer {
  @ApiProperty({ type: [ActivityAnswer] })
  items: readonly ActivityAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

/** The fields that laps and splits share; a field is null if the vendor does not have it. */
class StretchAnswer {
  @ApiProperty({ type: 'integer', nullable: true, description: '1 for the first' })
  number: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Metres' })
  distance_m: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Seconds without pauses' })
  moving_time_s: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Seconds with pauses' })
  elapsed_time_s: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Metres a second' })
  average_speed_m_s: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Beats a minute' })
  average_heartrate: number | null;
}

class LapAnswer extends StretchAnswer {
  @ApiProperty({ type: String, nullable: true, description: 'The vendor’s id' })
  id: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'Lap 1' })
  name: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  start_time: Date | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Metres climbed' })
  elevation_gain_m: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Metres a second' })
  max_speed_m_s: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Beats a minute' })
  max_heartrate: number | null;

  @ApiProperty({
    type: Number,
    nullable: true,
    description: 'Revolutions a minute; for a run, strides of one foot a minute',
  })
  average_cadence: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Watts' })
  average_watts: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'The first sample of the lap in the streams' })
  start_index: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'The last sample of the lap in the streams' })
  end_index: number | null;
}

class SplitAnswer extends StretchAnswer {
  @ApiProperty({ type: Number, nullable: true, description: 'Metres; negative downhill' })
  elevation_difference_m: number | null;
}

class MapAnswer {
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'The route in Google’s polyline format; null until the detail is imported',
  })
  polyline: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'The route with fewer points' })
  summary_polyline: string | null;
}

export class ActivityDetailAnswer extends ActivityAnswer {
  @ApiProperty({ type: String, nullable: true, description: 'The athlete’s own text' })
  description: string | null;

  @ApiProperty({
    type: [LapAnswer],
    nullable: true,
    description:
      'Laps made by hand, by distance or by a plan on the watch; null until the detail is imported',
  })
  laps: readonly LapAnswer[] | null;

  @ApiProperty({
    type: [SplitAnswer],
    nullable: true,
    description:
      'One split for each kilometre. The last split may be shorter. Null until the detail is imported',
  })
  splits: readonly SplitAnswer[] | null;

  @ApiProperty({ type: MapAnswer })
  map: MapAnswer;
}

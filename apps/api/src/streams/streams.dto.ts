import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { FETCH_STATUSES } from '#streams';

const MOST_CHANNELS = 64;

export class StreamsQuery {
  @ApiPropertyOptional({
    type: String,
    example: 'time,heartrate',
    description: 'Only these; those the activity does not have are left out',
  })
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(',') : value))
  @ArrayMaxSize(MOST_CHANNELS)
  @Matches(/^[a-z][a-z0-9_]{0,63}$/, {
    each: true,
    message: 'must be names of channels, separated by commas',
  })
  channels?: string[];

  @ApiPropertyOptional({
    minimum: 2,
    maximum: 100_000,
    description:
      'At most so many samples a channel; of each stretch the lowest and the highest value are kept',
  })
  @IsOptional()
  @Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value,
  )
  @IsInt()
  @Min(2)
  @Max(100_000)
  points?: number;
}

export class StreamsAnswer {
  @ApiProperty({ format: 'uuid' })
  activity_id: string;

  @ApiProperty({ enum: FETCH_STATUSES })
  status: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'array', items: {} },
    nullable: true,
    description: 'The samples by channel; null unless `success`',
    example: { time: [0, 1, 2], heartrate: [98, 99, 101] },
  })
  stream_data: Readonly<Record<string, readonly unknown[]>> | null;

  @ApiProperty({ type: [String] })
  channels_available: readonly string[];

  @ApiProperty({ description: 'Samples a channel, as recorded' })
  point_count: number;

  @ApiProperty({ example: 'strava' })
  source: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  fetched_at: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Why there is nothing yet' })
  error: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'Tried again from then on' })
  retry_at: string | null;
}

import { ApiProperty, type ApiPropertyOptions, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { FETCH_STATUSES } from '#streams';

const MOST_CHANNELS = 64;

const number = { type: 'number', nullable: true } as const;
const position = {
  type: 'array',
  items: { type: 'number' },
  minItems: 2,
  maxItems: 2,
  nullable: true,
} as const;

const channel = (items: object, description: string) => ({ type: 'array', items, description });

/** The known channels with their units. All have the same length: sample n of each channel belongs to the same moment. */
const STREAM_DATA = {
  type: 'object',
  properties: {
    time: channel({ type: 'number', minimum: 0 }, 'Seconds since the start; never decreases'),
    distance: channel(number, 'Metres since the start'),
    latlng: channel(position, 'Latitude and longitude in degrees'),
    altitude: channel(number, 'Metres above sea level'),
    velocity_smooth: channel(number, 'Metres a second, smoothed by the vendor'),
    heartrate: channel(number, 'Beats a minute'),
    cadence: channel(number, 'Revolutions a minute; for a run, strides of one foot a minute'),
    watts: channel(number, 'Power in watts'),
    temp: channel(number, 'Degrees Celsius'),
    moving: channel({ type: 'boolean' }, 'Whether the athlete was moving'),
    grade_smooth: channel(number, 'Gradient in percent, smoothed by the vendor'),
  },
  additionalProperties: { type: 'array', items: {}, description: 'A channel that is not listed here' },
} as ApiPropertyOptions;

export class StreamsQuery {
  @ApiPropertyOptional({
    type: String,
    description:
      'Only these channels, separated by commas: `time,heartrate`. Channels that the activity does not have are left out',
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
    type: 'integer',
    minimum: 2,
    maximum: 100_000,
    description:
      'At most this many samples for each channel; the lowest and the highest value of each section are kept',
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
    ...STREAM_DATA,
    nullable: true,
    description:
      'The samples by channel; null unless `status` is `success`. Other channels may be there, too',
    example: { time: [0, 1, 2], heartrate: [98, 99, 101] },
  })
  stream_data: Readonly<Record<string, readonly unknown[]>> | null;

  @ApiProperty({ type: [String], description: 'All channels that were recorded' })
  channels_available: readonly string[];

  @ApiProperty({ type: 'integer', description: 'Number of samples that each channel of the recording has' })
  point_count: number;

  @ApiProperty({ example: 'strava', description: 'The vendor of the streams' })
  source: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  fetched_at: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'The reason why there are no streams yet' })
  error: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The earliest time of the next attempt',
  })
  retry_at: string | null;
}

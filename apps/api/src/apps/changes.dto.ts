import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsNumber, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { CHANGE_TYPES, ErrorAnswer, LONGEST_POLL_SECONDS } from '#platform';
import { PageLimit } from '../page-query.js';

const Types = () =>
  ApiPropertyOptional({
    type: String,
    example: 'activity.*,sleep.stored',
    description:
      'Types, separated by commas; `activity.*` names all types of activities. Without it, all types',
  });

export class ChangesQuery {
  @ApiPropertyOptional({
    type: String,
    description:
      '`next_cursor` of an earlier answer, or `latest` for the place after the newest change. Without it, the oldest change that is kept',
  })
  @IsOptional()
  @IsString()
  @Length(1, 200)
  after?: string;

  @PageLimit({ most: 1_000, otherwise: 100 })
  limit = 100;

  @Types()
  @IsOptional()
  @IsString()
  @Length(1, 500)
  types?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: LONGEST_POLL_SECONDS,
    default: 0,
    description: 'Seconds to wait for a change if there is none',
  })
  @IsOptional()
  @Type(() => Number)
  @IsNumber()
  @Min(0)
  @Max(LONGEST_POLL_SECONDS)
  wait = 0;
}

export class EventsQuery {
  @Types()
  @IsOptional()
  @IsString()
  @Length(1, 500)
  types?: string;
}

export class ChangeAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ enum: CHANGE_TYPES })
  type: string;

  @ApiProperty({ format: 'uuid' })
  athlete_id: string;

  @ApiProperty({
    description: 'The id of the activity or import, the date of the night, or the vendor of the connection',
  })
  subject_id: string;

  @ApiProperty({ type: 'integer', description: 'Grows with each change of the subject' })
  revision: number;

  @ApiProperty({ type: String, format: 'date-time' })
  occurred_at: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'The subject as its own route answers; null after a deletion',
  })
  data: Record<string, unknown> | null;
}

export class ChangesAnswer {
  @ApiProperty({ type: [ChangeAnswer] })
  items: ChangeAnswer[];

  @ApiProperty({ description: 'The place after this page; never null' })
  next_cursor: string;

  @ApiProperty({
    description:
      'There may be more changes now: ask again at once. With `types`, even an empty page may be followed by more changes',
  })
  has_more: boolean;
}

export class CursorExpiredAnswer extends ErrorAnswer {
  @ApiProperty({ description: 'The place before the oldest change that is kept' })
  oldest_cursor: string;
}

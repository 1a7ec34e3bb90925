import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, Length, Matches } from 'class-validator';
import { ImportAnswer } from '../activities/imports.dto.js';
import { ConnectionItem } from '../connections/connections.dto.js';
import { PageCursor, PageLimit } from '../page-query.js';
import { StatusCounts } from './admin.dto.js';

export class AthletesSearchQuery {
  @ApiPropertyOptional({
    example: 'auth0|5f7c8ec7',
    description:
      'The beginning of a subject; the beginning of an id, from eight digits on; or a whole id at a vendor',
  })
  @IsOptional()
  @IsString()
  @Length(1, 1_000)
  @Matches(/\S/, { message: 'q must not be blank' })
  q?: string;

  @ApiPropertyOptional({
    enum: ['needs_reauth'],
    description: 'Only athletes with such a connection; not together with `q`',
  })
  @IsOptional()
  @IsIn(['needs_reauth'])
  connection?: 'needs_reauth';

  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  // The cursor of a search has the subject of the last athlete.
  @PageCursor({ longest: 4_000 })
  cursor?: string;
}

class BackfillStateAnswer extends StatusCounts {
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When all streams will be stored; null if nothing is left, or if there is no estimate',
  })
  eta: Date | null;
}

export class AthleteOverviewAnswer {
  @ApiProperty({ format: 'uuid', description: 'For the header `Pacekeeper-Athlete`' })
  id: string;

  @ApiProperty({ description: 'The `sub` of the athlete’s tokens' })
  subject: string;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiProperty({ type: [ConnectionItem] })
  connections: readonly ConnectionItem[];

  @ApiProperty({ type: 'integer', description: 'Number of activities' })
  activities: number;

  @ApiProperty({
    type: BackfillStateAnswer,
    nullable: true,
    description: 'Activities by the state of their streams; null without activities',
  })
  backfill: BackfillStateAnswer | null;

  @ApiProperty({
    type: ImportAnswer,
    nullable: true,
    description: 'The import that is not finished, or else the newest one; null if there was none',
  })
  import: ImportAnswer | null;
}

export class AthleteOverviewsAnswer {
  @ApiProperty({ type: [AthleteOverviewAnswer] })
  items: readonly AthleteOverviewAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

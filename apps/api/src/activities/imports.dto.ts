import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsDate, IsIn, IsOptional, MaxDate, MinDate } from 'class-validator';
import { EARLIEST, LATEST } from './dates.js';
import { IMPORT_TYPES, type ImportType } from '#activities';

export class BeginImport {
  @ApiProperty({ enum: IMPORT_TYPES })
  @IsIn(IMPORT_TYPES)
  type: ImportType;

  @ApiPropertyOptional({ format: 'date-time', description: 'leave out what began earlier' })
  @IsOptional()
  @Type(() => Date)
  @IsDate()
  @MinDate(EARLIEST)
  @MaxDate(LATEST)
  since?: Date;
}

export class ImportAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ enum: IMPORT_TYPES })
  type: string;

  @ApiProperty({ enum: ['queued', 'started', 'rate_limited', 'completed', 'failed', 'cancelled'] })
  status: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  since: string | null;

  @ApiProperty({ description: 'details stored' })
  activities_imported: number;

  @ApiProperty({ type: Number, nullable: true, description: 'null until the history has been listed' })
  activities_total: number | null;

  @ApiProperty()
  photos_imported: number;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  retry_after: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'null until the history has been listed',
  })
  eta: string | null;

  @ApiProperty({ example: 'Rate limited, resuming at 14:15 UTC' })
  message: string;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  started_at: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  finished_at: string | null;
}

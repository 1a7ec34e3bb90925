import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { IMPORT_TYPES, type ImportType } from '#activities';
import { type VendorId, vendorsWith } from '#vendors';
import { PageCursor, PageLimit } from '../page-query.js';
import { IsDateTime } from './dates.js';

const WITH_ACTIVITIES = vendorsWith('activities');

export class BeginImport {
  @ApiProperty({ enum: IMPORT_TYPES })
  @IsIn(IMPORT_TYPES)
  type: ImportType;

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    description: 'Activities that began earlier are not imported',
  })
  @IsOptional()
  @IsDateTime()
  since?: Date;

  @ApiPropertyOptional({
    enum: WITH_ACTIVITIES,
    description: 'Without it, the first connected vendor with activities',
  })
  @IsOptional()
  @IsIn(WITH_ACTIVITIES)
  provider?: VendorId;
}

export class ImportsQuery {
  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @PageCursor()
  cursor?: string;
}

export class ImportAnswer {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ enum: WITH_ACTIVITIES, description: 'The vendor of the activities' })
  provider: VendorId;

  @ApiProperty({ enum: IMPORT_TYPES })
  type: string;

  @ApiProperty({ enum: ['queued', 'started', 'rate_limited', 'completed', 'failed', 'cancelled'] })
  status: string;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'Activities that began earlier are not imported; null: no limit',
  })
  since: string | null;

  @ApiProperty({ type: 'integer', description: 'Activities whose details are stored' })
  activities_imported: number;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Null until the history has been listed' })
  activities_total: number | null;

  @ApiProperty({ type: 'integer', description: 'Activities whose photos are stored' })
  photos_imported: number;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The time at which the import continues, if the vendor’s limit has stopped it',
  })
  retry_after: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The time at which the import will be complete; null until the history has been listed',
  })
  eta: string | null;

  @ApiProperty({ example: 'Rate limited, resuming at 14:15 UTC', description: 'For a person' })
  message: string;

  @ApiProperty({ format: 'date-time' })
  created_at: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  started_at: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  finished_at: string | null;
}

export class ImportsAnswer {
  @ApiProperty({ type: [ImportAnswer] })
  items: readonly ImportAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsUUID } from 'class-validator';
import { IMPORT_STATUSES, type ImportStatus } from '#activities';
import { ReceiptAnswer } from '../account/account.dto.js';
import { ImportAnswer } from '../activities/imports.dto.js';
import { PageCursor, PageLimit } from '../page-query.js';

class HistoryQuery {
  @ApiPropertyOptional({ format: 'uuid', description: 'Only those of this athlete' })
  @IsOptional()
  @IsUUID()
  athlete_id?: string;

  @PageLimit({ most: 200, otherwise: 50 })
  limit = 50;

  @PageCursor()
  cursor?: string;
}

export class AllImportsQuery extends HistoryQuery {
  @ApiPropertyOptional({ enum: IMPORT_STATUSES, description: 'Only imports with this status' })
  @IsOptional()
  @IsIn(IMPORT_STATUSES)
  status?: ImportStatus;
}

export class ReceiptsQuery extends HistoryQuery {}

class ListedImportAnswer extends ImportAnswer {
  @ApiProperty({ format: 'uuid' })
  athlete_id: string;
}

export class AllImportsAnswer {
  @ApiProperty({ type: [ListedImportAnswer] })
  items: readonly ListedImportAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

class ListedReceiptAnswer extends ReceiptAnswer {
  @ApiProperty({ format: 'uuid', description: 'The athlete may be gone' })
  athlete_id: string;
}

export class ReceiptsAnswer {
  @ApiProperty({ type: [ListedReceiptAnswer] })
  items: readonly ListedReceiptAnswer[];

  @ApiProperty({ type: String, nullable: true })
  next_cursor: string | null;
}

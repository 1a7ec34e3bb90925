import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Receipts } from '#account';
import { ImportList } from '#activities';
import { Admin } from '#platform';
import { AllImportsAnswer, AllImportsQuery, ReceiptsAnswer, ReceiptsQuery } from './history.dto.js';

/** Lists imports and receipts of all athletes. A listed import may have moved on since. */
@ApiTags('admin')
@Admin()
@Controller('admin')
export class HistoryController {
  constructor(
    private readonly imported: ImportList,
    private readonly receipts: Receipts,
  ) {}

  @Get('imports')
  @ApiOperation({
    operationId: 'listAllImports',
    summary: 'List imports of all athletes, newest first',
    description: '`message` and `eta` are as the athlete sees them.',
  })
  @ApiOkResponse({ type: AllImportsAnswer, description: 'A page of imports' })
  listImports(@Query() { athlete_id, ...page }: AllImportsQuery): Promise<AllImportsAnswer> {
    return this.imported.page({ athleteId: athlete_id, ...page });
  }

  @Get('receipts')
  @ApiOperation({
    operationId: 'listReceipts',
    summary: 'List receipts of deletions, newest first',
    description:
      'Receipts are kept for `RECEIPTS_RETENTION_DAYS` (365). The athlete of a receipt is usually gone.',
  })
  @ApiOkResponse({ type: ReceiptsAnswer, description: 'A page of receipts' })
  listReceipts(@Query() { athlete_id, ...page }: ReceiptsQuery): Promise<ReceiptsAnswer> {
    return this.receipts.page({ athleteId: athlete_id, ...page });
  }
}

import { Controller, Delete, Get, Header, HttpCode, Param, StreamableFile, Req } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBearerAuth,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiProduces,
  ApiTags,
} from '@nestjs/swagger';
import { Account, AccountExport, Receipts } from '#account';
import { type AuthenticatedRequest, ErrorAnswer, IdParam, Public } from '#platform';
import { ReceiptAnswer, ReceiptIdAnswer } from './account.dto.js';

@ApiTags('account')
@Controller('v1')
export class AccountController {
  constructor(
    private readonly account: Account,
    private readonly archive: AccountExport,
    private readonly receipts: Receipts,
  ) {}

  @Get('account/export')
  @ApiBearerAuth()
  @Header('cache-control', 'no-store')
  @ApiOperation({
    summary: 'All that is held about the athlete, as tar.gz of NDJSON with a closing manifest',
  })
  @ApiProduces('application/gzip')
  export(@Req() { caller: { athleteId } }: AuthenticatedRequest): StreamableFile {
    return new StreamableFile(this.archive.of(athleteId), {
      type: 'application/gzip',
      disposition: 'attachment; filename="pacekeeper-export.tar.gz"',
    });
  }

  @Delete('account')
  @HttpCode(202)
  @ApiBearerAuth()
  @ApiOperation({ summary: 'Delete the athlete and everything held about them' })
  @ApiAcceptedResponse({ type: ReceiptIdAnswer })
  async delete(@Req() { caller: { athleteId } }: AuthenticatedRequest): Promise<ReceiptIdAnswer> {
    return { receipt_id: await this.account.delete(athleteId) };
  }

  @Get('receipts/:id')
  @Public()
  @Header('cache-control', 'no-store')
  @ApiOperation({
    summary: 'What has been deleted, and when; for whoever has the id, since the account may be gone',
  })
  @ApiOkResponse({ type: ReceiptAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  receipt(@Param('id', IdParam) id: string): Promise<ReceiptAnswer> {
    return this.receipts.find(id);
  }
}

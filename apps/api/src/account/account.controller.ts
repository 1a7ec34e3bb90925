import { Readable } from 'node:stream';
import { Controller, Delete, Get, Header, HttpCode, Param, StreamableFile, Req } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Account, AccountExport, Receipts } from '#account';
import { type AuthenticatedRequest, IdParam, NeedsScope, Public } from '#platform';
import { WithoutAthlete } from '../athletes/known-athlete.guard.js';
import { Refuses } from '../openapi/common-answers.js';
import { ReceiptAnswer, ReceiptIdAnswer } from './account.dto.js';

/** Export, deletion and receipts of the athlete. A receipt needs no token, since the account may be gone. */
@ApiTags('account')
@Controller('v1')
export class AccountController {
  constructor(
    private readonly account: Account,
    private readonly archive: AccountExport,
    private readonly receipts: Receipts,
  ) {}

  @Get('account/export')
  @NeedsScope('write')
  @Header('cache-control', 'no-store')
  @ApiOperation({
    operationId: 'exportAccount',
    summary: 'Export everything that is stored about the athlete',
    description:
      'A tar.gz with one NDJSON file for each kind of record, and a manifest as the last file. An archive without a manifest is incomplete.',
  })
  @ApiOkResponse({
    description: 'The archive',
    content: { 'application/gzip': { schema: { type: 'string', format: 'binary' } } },
  })
  @Refuses({
    429: 'Another archive of the athlete is being downloaded, or this process already sends two archives of other athletes, or the athlete has used up the requests of this minute',
  })
  async export(@Req() { caller: { athleteId }, method }: AuthenticatedRequest): Promise<StreamableFile> {
    // HEAD asks for the headers alone, and an archive costs seconds of processor time.
    const bytes = method === 'HEAD' ? Readable.from([]) : await this.archive.of(athleteId);
    return new StreamableFile(bytes, {
      type: 'application/gzip',
      disposition: 'attachment; filename="pacekeeper-export.tar.gz"',
    });
  }

  @Delete('account')
  @HttpCode(202)
  @WithoutAthlete()
  @ApiOperation({
    operationId: 'deleteAccount',
    summary: 'Delete the athlete and everything that is stored about them',
    description:
      'All vendors are disconnected. The receipt says what was deleted and when; reading it needs no token. A second request returns the same receipt.',
  })
  @ApiAcceptedResponse({ type: ReceiptIdAnswer, description: 'The deletion has begun' })
  async delete(@Req() { caller }: AuthenticatedRequest): Promise<ReceiptIdAnswer> {
    return { receipt_id: await this.account.delete(caller) };
  }

  @Get('receipts/:id')
  @Public()
  @Header('cache-control', 'no-store')
  @ApiOperation({
    operationId: 'getReceipt',
    summary: 'Read what was deleted, and when',
    description: 'Needs no token, since the account may be gone: the id is the secret.',
  })
  @ApiOkResponse({ type: ReceiptAnswer, description: 'The receipt' })
  @Refuses({
    404: 'There is no such receipt',
    503: 'A server that this request needs does not answer; try again',
  })
  receipt(@Param('id', IdParam) id: string): Promise<ReceiptAnswer> {
    return this.receipts.find(id);
  }
}

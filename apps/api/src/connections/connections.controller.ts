import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { Account } from '#account';
import { Connecting, Connections, isProvider, PROVIDERS } from '#connections';
import { type AuthenticatedRequest, ErrorAnswer, NotFound } from '#platform';
import { ReceiptIdAnswer } from '../account/account.dto.js';
import { ConnectAnswer, ConnectionList, ConnectRequest } from './connections.dto.js';

@ApiTags('connections')
@ApiBearerAuth()
@ApiUnauthorizedResponse({ type: ErrorAnswer })
@Controller('v1/connections')
export class ConnectionsController {
  constructor(
    private readonly connections: Connections,
    private readonly connecting: Connecting,
    private readonly account: Account,
  ) {}

  @Get()
  @ApiOperation({ summary: "The athlete's accounts at the vendors" })
  @ApiOkResponse({ type: ConnectionList })
  async list(@Req() { caller: { athleteId } }: AuthenticatedRequest): Promise<ConnectionList> {
    return { items: await this.connections.list(athleteId) };
  }

  @Post(':provider')
  @ApiOperation({ summary: 'Begin to connect an account' })
  @ApiParam({ name: 'provider', enum: PROVIDERS })
  @ApiCreatedResponse({ type: ConnectAnswer })
  @ApiBadRequestResponse({ type: ErrorAnswer, description: 'return_url is not allowed' })
  @ApiNotFoundResponse({ type: ErrorAnswer, description: 'This vendor is not offered here' })
  async connect(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('provider') provider: string,
    // The class alone: of a union no metadata is left, and nothing would be checked.
    @Body() body: ConnectRequest,
  ): Promise<ConnectAnswer> {
    if (isProvider(provider)) await this.account.assertNotLeaving(athleteId, provider);
    const { authorizeUrl } = await this.connecting.start(athleteId, provider, body?.return_url ?? undefined);
    return { authorize_url: authorizeUrl };
  }

  @Delete(':provider')
  @HttpCode(202)
  @ApiOperation({
    summary: 'Disconnect an account: its tokens are revoked at the vendor, its data is deleted here',
  })
  @ApiParam({ name: 'provider', enum: PROVIDERS })
  @ApiAcceptedResponse({ type: ReceiptIdAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer, description: 'It is not connected' })
  async disconnect(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('provider') provider: string,
  ): Promise<ReceiptIdAnswer> {
    if (!isProvider(provider)) throw new NotFound('There is no such connection');
    return { receipt_id: await this.account.disconnect(athleteId, provider) };
  }
}

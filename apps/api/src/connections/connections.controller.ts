import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiCreatedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { Account } from '#account';
import {
  ConsentConfirmation,
  ConnectFlow,
  Connections,
  consentError,
  isProvider,
  NotConnected,
  PROVIDERS,
} from '#connections';
import { type AuthenticatedRequest, NotFound } from '#platform';
import { VENDORS } from '#vendors';
import { ReceiptIdAnswer } from '../account/account.dto.js';
import { Refuses } from '../openapi/common-answers.js';
import {
  ConfirmRequest,
  ConnectAnswer,
  ConnectionItem,
  ConnectionList,
  ConnectRequest,
} from './connections.dto.js';

/** Lists, begins, confirms and ends the connections of the athlete. Disconnecting answers before the data is deleted. */
@ApiTags('connections')
@Controller('v1/connections')
export class ConnectionsController {
  constructor(
    private readonly connections: Connections,
    private readonly connecting: ConnectFlow,
    private readonly confirming: ConsentConfirmation,
    private readonly account: Account,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'listConnections',
    summary: 'List the athlete’s accounts at the vendors',
    description: 'An athlete has at most one account at each vendor.',
  })
  @ApiOkResponse({ type: ConnectionList, description: 'The connections' })
  async list(@Req() { caller: { athleteId } }: AuthenticatedRequest): Promise<ConnectionList> {
    return { items: await this.connections.list(athleteId) };
  }

  @Post(':provider')
  @ApiOperation({
    operationId: 'beginConnection',
    summary: 'Begin to connect an account at a vendor',
    description:
      'Send the athlete’s browser to `authorize_url`. The vendor asks for consent and sends the browser back; the app then confirms with the token of the athlete who began.',
  })
  @ApiParam({ name: 'provider', enum: PROVIDERS })
  @ApiCreatedResponse({ type: ConnectAnswer, description: 'Where to send the browser' })
  @Refuses({
    400: 'A field is not allowed, or `return_url` is not at or below one of `RETURN_URLS`',
    404: 'This vendor is not offered here',
    409: 'Data of the previous connection is still being deleted',
  })
  async connect(
    @Req() { caller: { athleteId, account, actor } }: AuthenticatedRequest,
    @Param('provider') provider: string,
    // The type must be the class alone: a union leaves no metadata, and the body would not be validated.
    @Body() body: ConnectRequest,
  ): Promise<ConnectAnswer> {
    if (isProvider(provider)) await this.account.assertNotLeaving(athleteId, provider);
    const beginning = { returnUrl: body?.return_url ?? undefined, account, begunBy: actor };
    const { authorizeUrl } = await this.connecting.start(athleteId, provider, beginning);
    return { authorize_url: authorizeUrl };
  }

  @Post(':provider/confirm')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'confirmConnection',
    summary: 'Confirm a consent, and so connect the account',
    description:
      'This is the last step. It needs the token of the athlete who began, or the service key that began for the athlete, so that another person’s account cannot be connected to this athlete. A confirmation works once, within ten minutes of the callback. If the vendor’s code expires earlier, the answer is 410, too. An answer 503 with `Retry-After` does not use the confirmation up: send it again.',
  })
  @ApiParam({ name: 'provider', enum: PROVIDERS })
  @ApiOkResponse({ type: ConnectionItem, description: 'The connection' })
  @Refuses({
    404: 'There is no such consent, or somebody else began it',
    409: 'The account is connected to another athlete, this athlete has another account of that vendor, or a permission is missing',
    410: 'The consent was used or is too old: connect again',
    502: 'The vendor does not answer, or refuses this app',
  })
  async confirm(
    @Req() { caller: { athleteId, actor } }: AuthenticatedRequest,
    @Param('provider') provider: string,
    @Body() { confirm }: ConfirmRequest,
  ): Promise<ConnectionItem> {
    if (isProvider(provider)) await this.account.assertNotLeaving(athleteId, provider);
    const outcome = await this.confirming.confirm(provider, confirm, { athleteId, begunBy: actor });
    const error = consentError(outcome);
    if (error) throw error;
    const connections = await this.connections.list(athleteId);
    const connection = connections.find((one) => one.provider === outcome.provider);
    if (!connection) throw new NotConnected(VENDORS[outcome.provider]);
    return connection;
  }

  @Delete(':provider')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'disconnect',
    summary: 'Disconnect an account and delete its data',
    description:
      'The account’s tokens are revoked at the vendor, and its data is deleted here. The receipt says when the deletion is complete.',
  })
  @ApiParam({ name: 'provider', enum: PROVIDERS })
  @ApiAcceptedResponse({ type: ReceiptIdAnswer, description: 'The deletion has begun' })
  @Refuses({ 404: 'This vendor is not connected' })
  async disconnect(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('provider') provider: string,
  ): Promise<ReceiptIdAnswer> {
    if (!isProvider(provider)) throw new NotFound('There is no such connection');
    return { receipt_id: await this.account.disconnect(athleteId, provider) };
  }
}

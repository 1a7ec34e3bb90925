import { Body, Controller, Delete, Get, Header, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { ServiceKeys } from '#connections';
import { Admin, type AuthenticatedRequest, BodyLimit, IdParam, SMALL_BODY_BYTES } from '#platform';
import { Refuses } from '../openapi/common-answers.js';
import { CreateKey, KeysAnswer, KeysQuery, NewKeyAnswer } from './keys.dto.js';

/** Creates, lists and revokes the service keys of the app's own backend. */
@ApiTags('admin')
@Admin()
@Controller('admin/keys')
export class KeysController {
  constructor(private readonly keys: ServiceKeys) {}

  @Post()
  @BodyLimit(SMALL_BODY_BYTES)
  @Header('cache-control', 'no-store')
  @ApiOperation({
    operationId: 'createKey',
    summary: 'Create a service key',
    description:
      'Only this answer has the key; a hash of it is stored. `read` allows GET requests, `write` all other requests and the export, `events` the changes and the webhook endpoints, `ingest` sending nights.',
  })
  @ApiCreatedResponse({ type: NewKeyAnswer, description: 'The new key' })
  @Refuses({ 409: 'There are 1,000 keys that are not revoked' })
  create(
    @Req() { caller }: AuthenticatedRequest,
    @Body() { name, scopes }: CreateKey,
  ): Promise<NewKeyAnswer> {
    return this.keys.create({ name, scopes, actor: caller.subject });
  }

  @Get()
  @ApiOperation({
    operationId: 'listKeys',
    summary: 'List service keys, newest first',
    description: 'The list has the revoked keys, too, and never a key itself.',
  })
  @ApiOkResponse({ type: KeysAnswer, description: 'A page of keys' })
  list(@Query() { cursor, limit }: KeysQuery): Promise<KeysAnswer> {
    return this.keys.list(cursor, limit);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiOperation({
    operationId: 'revokeKey',
    summary: 'Revoke a service key',
    description: 'Every replica refuses the key within five seconds. A second revocation changes nothing.',
  })
  @ApiNoContentResponse({ description: 'The key is revoked' })
  @Refuses({ 404: 'There is no such key' })
  async revoke(@Req() { caller }: AuthenticatedRequest, @Param('id', IdParam) id: string): Promise<void> {
    await this.keys.revoke(id, caller.subject);
  }
}

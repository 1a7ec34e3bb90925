import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Settings } from '#admin';
import { Admin } from '#platform';
import { SettingsAnswer } from './settings.dto.js';

/** Shows operators the configuration of this process of the api, without secrets. */
@ApiTags('admin')
@Admin()
@Controller('admin/settings')
export class SettingsController {
  constructor(private readonly settings: Settings) {}

  @Get()
  @ApiOperation({
    operationId: 'getSettings',
    summary: 'Read the configuration, the versions and the migrations',
    description:
      'Secrets are `[redacted]`, and URLs have no user, password or query. Other processes may be configured differently.',
  })
  @ApiOkResponse({ type: SettingsAnswer, description: 'The settings of the process that answers' })
  read(): Promise<SettingsAnswer> {
    return this.settings.read();
  }
}

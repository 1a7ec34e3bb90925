import { Controller, Get } from '@nestjs/common';
import { ApiBearerAuth, ApiForbiddenResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Observability } from '#admin';
import { Admin, ErrorAnswer } from '#platform';
import { ObservabilityAnswer } from './admin.dto.js';

@ApiTags('admin')
@ApiBearerAuth()
@ApiForbiddenResponse({ type: ErrorAnswer })
@Admin()
@Controller('admin')
export class AdminController {
  constructor(private readonly observability: Observability) {}

  @Get('observability')
  @ApiOperation({ summary: 'What is left of the budget for Strava, and how far the fetching of streams is' })
  @ApiOkResponse({ type: ObservabilityAnswer })
  look(): Promise<ObservabilityAnswer> {
    return this.observability.look();
  }
}

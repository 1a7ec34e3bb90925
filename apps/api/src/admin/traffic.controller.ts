import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Admin } from '#platform';
import { Budgets } from '#rate-limit';
import { TrafficAnswer, TrafficQuery } from './traffic.dto.js';

/** Shows operators when calls to a vendor were made. The numbers come from the ledger, so they include calls without an answer. */
@ApiTags('admin')
@Admin()
@Controller('admin/traffic')
export class TrafficController {
  constructor(private readonly budgets: Budgets) {}

  @Get()
  @ApiOperation({
    operationId: 'getTraffic',
    summary: 'Count the calls to a vendor of the last 24 hours, in buckets of 15 minutes',
    description:
      'Counts by class, and how many calls the vendor answered with 429. `TIME_SCALE` divides the 24 hours and the 15 minutes.',
  })
  @ApiOkResponse({ type: TrafficAnswer, description: 'The buckets, oldest first' })
  async read(@Query() { vendor }: TrafficQuery): Promise<TrafficAnswer> {
    return { vendor, ...(await this.budgets.of(vendor).traffic()) };
  }
}

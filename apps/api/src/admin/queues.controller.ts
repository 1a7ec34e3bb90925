import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Queues } from '#admin';
import { Admin } from '#platform';
import { QueuesAnswer } from './queues.dto.js';

/** Shows operators the queues of ticks in Redis. Nothing can be changed here: the rows in Postgres decide what is due. */
@ApiTags('admin')
@Admin()
@Controller('admin/queues')
export class QueuesController {
  constructor(private readonly queues: Queues) {}

  @Get()
  @ApiOperation({
    operationId: 'listQueues',
    summary: 'List the queues of imports and backfills with their first ticks',
    description:
      'A tick says "look at this import" or "look at this athlete’s backfill". An empty queue does not mean that no work is due: sweeps queue missing ticks.',
  })
  @ApiOkResponse({ type: QueuesAnswer, description: 'All queues' })
  async list(): Promise<QueuesAnswer> {
    return { items: await this.queues.read(), next_cursor: null };
  }
}

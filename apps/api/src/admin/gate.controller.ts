import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { Admin } from '#platform';
import { PlaybackGate } from '#playback';
import { GateStateAnswer } from './gate.dto.js';

/** Shows the playback gate over all replicas. It has no names and no addresses. */
@ApiTags('admin')
@Admin()
@Controller('admin/gate')
export class GateController {
  constructor(private readonly gate: PlaybackGate) {}

  @Get()
  @ApiOperation({
    operationId: 'getGate',
    summary: 'Read the places of the playback gate, and its decisions of the last hour by minute',
    description: 'The counts are at most two seconds old. A replica that dies loses its last two seconds.',
  })
  @ApiOkResponse({ type: GateStateAnswer, description: 'The gate now' })
  read(): Promise<GateStateAnswer> {
    return this.gate.read();
  }
}

import { Controller, Get, Module } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { Gauge, register } from 'prom-client';
import { Public } from '../auth/access.js';
import { type BuildInfo, buildInfo } from './build-info.js';

const STARTED_AT = new Date(Date.now() - process.uptime() * 1_000).toISOString();

const gauge = new Gauge({
  name: 'pacekeeper_build_info',
  help: 'Always 1; the labels say which release runs',
  labelNames: ['version', 'commit'],
  registers: [register],
});
gauge.set({ ...buildInfo }, 1);

class VersionAnswer implements BuildInfo {
  @ApiProperty({ example: '0.2.0' })
  readonly version!: string;

  @ApiProperty({ example: 'd5a280d', description: 'The built commit, `unknown` if the build recorded none' })
  readonly commit!: string;

  @ApiProperty({ format: 'date-time' })
  readonly started_at!: string;
}

@ApiTags('operations')
@Public()
@Controller('version')
class VersionController {
  @Get()
  @ApiOperation({
    operationId: 'getVersion',
    summary: 'Name the running release',
    description: 'The metric `pacekeeper_build_info` has the same version and commit.',
  })
  @ApiOkResponse({ type: VersionAnswer, description: 'The release' })
  version(): VersionAnswer {
    return { ...buildInfo, started_at: STARTED_AT };
  }
}

/** Provides `GET /version` and the metric `pacekeeper_build_info`, in the api and in the worker. */
@Module({ controllers: [VersionController] })
export class VersionModule {}

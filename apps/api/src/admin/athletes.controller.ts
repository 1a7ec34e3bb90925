import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AthleteOverviews } from '#admin';
import { Admin, IdParam } from '#platform';
import { Refuses } from '../openapi/common-answers.js';
import { AthleteOverviewAnswer, AthleteOverviewsAnswer, AthletesSearchQuery } from './athletes.dto.js';

/** Shows operators the athletes and how far their imports and backfills are. An ETA may be some seconds old. */
@ApiTags('admin')
@Admin()
@Controller('admin/athletes')
export class AdminAthletesController {
  constructor(private readonly athletes: AthleteOverviews) {}

  @Get()
  @ApiOperation({
    operationId: 'searchAthletes',
    summary: 'List athletes with their connections, imports and backfills, newest first',
    description:
      'With `q`, lists the athletes whose subject begins with `q`, whose id begins with `q` (eight digits or more), or whose id at a vendor is `q`. They are sorted by subject.',
  })
  @ApiOkResponse({ type: AthleteOverviewsAnswer, description: 'A page of athletes' })
  list(@Query() query: AthletesSearchQuery): Promise<AthleteOverviewsAnswer> {
    return this.athletes.list(query);
  }

  @Get(':id')
  @ApiOperation({
    operationId: 'getAthlete',
    summary: 'Read one athlete with connections, import and backfill',
    description: 'A deleted athlete is not found; the receipt says what was deleted.',
  })
  @ApiOkResponse({ type: AthleteOverviewAnswer, description: 'The athlete' })
  @Refuses({ 404: 'There is no such athlete' })
  show(@Param('id', IdParam) id: string): Promise<AthleteOverviewAnswer> {
    return this.athletes.show(id);
  }
}

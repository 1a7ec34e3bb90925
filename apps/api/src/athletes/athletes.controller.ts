import { Body, Controller, Get, Post, Query, Req, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type FastifyReply } from 'fastify';
import { AthleteDirectory } from '#connections';
import { NeedsScope, ServiceOnly, type SpanningRequest } from '#platform';
import { AthleteAnswer, AthletesAnswer, AthletesQuery, RegisterAthlete } from './athletes.dto.js';
import { SpansAthletes } from './known-athlete.guard.js';

/** Lists and creates athletes for the app's own backend. */
@ApiTags('athletes')
@ServiceOnly()
@SpansAthletes()
@Controller('v1/athletes')
export class AthletesController {
  constructor(private readonly directory: AthleteDirectory) {}

  @Get()
  @NeedsScope('read', 'write')
  @ApiOperation({
    operationId: 'listAthletes',
    summary: 'List all athletes, oldest first',
    description:
      'For service keys only. With `Pacekeeper-Athlete` the list has this athlete alone. A reader of all pages also finds the athletes that are created meanwhile.',
  })
  @ApiOkResponse({ type: AthletesAnswer, description: 'A page of athletes' })
  async list(
    @Req() { caller: { athleteId } }: SpanningRequest,
    @Query() { cursor, limit }: AthletesQuery,
  ): Promise<AthletesAnswer> {
    if (athleteId === undefined) return this.directory.list(cursor, limit);
    return { items: [await this.directory.show(athleteId)], next_cursor: null };
  }

  @Post()
  @ApiOperation({
    operationId: 'registerAthlete',
    summary: 'Create an athlete before the first login',
    description:
      'For service keys only. The athlete gets the id that the first login with this subject would give, so the app’s backend can begin a connection at once. Set `JWT_ISSUER`: the id of a subject that is not a UUID depends on the issuer.',
  })
  @ApiCreatedResponse({ type: AthleteAnswer, description: 'The new athlete' })
  @ApiOkResponse({ type: AthleteAnswer, description: 'The athlete existed already' })
  async register(
    @Body() { subject }: RegisterAthlete,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AthleteAnswer> {
    const { athlete, isNew } = await this.directory.register(subject);
    void reply.status(isNew ? 201 : 200);
    return athlete;
  }
}

import { applyDecorators, Controller, Get, Inject, Req, Res } from '@nestjs/common';
import {
  ApiExcludeEndpoint,
  ApiHeader,
  ApiNotFoundResponse,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Config, CONFIG, OWN_DEADLINE, Public, RouteFacts } from '#platform';
import { Addon, type AddonAnswer, readAddress } from '#playback';
import { AddonStreams, CatalogAnswer, ManifestAnswer, MetaAnswer } from './addon.dto.js';
import { addonRequestOf, hasTag } from './addon-http.js';

const TYPE = { name: 'type', example: 'series', description: 'The kind of content; there is only `series`' };
const ID = { name: 'id', description: 'The id from the catalogue, percent-encoded' };
const Revalidated = () =>
  applyDecorators(
    ApiHeader({ name: 'If-None-Match', required: false, description: 'The `ETag` of an earlier answer' }),
    ApiNotModifiedResponse({ description: 'The client has this version' }),
  );

/**
 * The Stremio add-on. The route patterns are for documentation and metrics only: the handler parses the raw path, since a session may be
 * named like a resource.
 */
@ApiTags('add-on')
@Public()
@RouteFacts(OWN_DEADLINE)
@Controller(['addon', 'addon/:session'])
export class AddonController {
  constructor(
    private readonly addon: Addon,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get('manifest.json')
  @ApiOperation({
    operationId: 'getAddonManifest',
    summary: 'Read what the add-on offers',
    description: 'A player installs the add-on from this URL.',
  })
  @ApiOkResponse({ type: ManifestAnswer, description: 'The manifest' })
  @Revalidated()
  manifest(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Get('catalog/:type/:id.json')
  @ApiOperation({
    operationId: 'listWorkouts',
    summary: 'List the first hundred guided workouts',
    description:
      'If there is no such catalogue, or it cannot be read, the list is empty and `reason` says why.',
  })
  @ApiParam(TYPE)
  @ApiParam(ID)
  @ApiOkResponse({ type: CatalogAnswer, description: 'A page of the catalogue' })
  @Revalidated()
  catalog(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Get('catalog/:type/:id/:extra.json')
  @ApiOperation({
    operationId: 'findWorkouts',
    summary: 'List guided workouts, a hundred a page, or search for them',
    description: '`extra` has the form that players send: `skip=100` or `search=hill`.',
  })
  @ApiParam(TYPE)
  @ApiParam(ID)
  @ApiParam({
    name: 'extra',
    example: 'skip=100',
    description: 'The rest of the list, or a search: `skip=100` or `search=hill`',
  })
  @ApiOkResponse({ type: CatalogAnswer, description: 'A page of the catalogue' })
  @Revalidated()
  catalogPage(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Get('meta/:type/:id.json')
  @ApiOperation({
    operationId: 'getWorkout',
    summary: 'Read one guided workout with its episodes',
    description: '`meta` is null if there is no such workout; `reason` says why.',
  })
  @ApiParam(TYPE)
  @ApiParam(ID)
  @ApiOkResponse({ type: MetaAnswer, description: 'The workout' })
  @Revalidated()
  @ApiNotFoundResponse({ type: MetaAnswer, description: 'There is no such workout' })
  meta(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Get('stream/:type/:id.json')
  @ApiOperation({
    operationId: 'listSources',
    summary: 'List the sources of an episode, best first, or say why there are none',
    description:
      'Each viewer takes one of `GATE_CAPACITY` places. A viewer is identified by the session or, without a session, by the IP address. A refusal is a 200 with a `reason`, because players show no errors.',
  })
  @ApiParam(TYPE)
  @ApiParam(ID)
  @ApiOkResponse({ type: AddonStreams, description: 'Sources, or the reason why there are none' })
  streams(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Get('*')
  @ApiExcludeEndpoint()
  anything(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const addonRequest = addonRequestOf(request, reply, this.config);
    try {
      send(request, reply, await this.addon.answer(readAddress(request.originalUrl), addonRequest));
    } catch (error) {
      // If the client has disconnected, there is no reader for the error.
      if (!addonRequest.signal?.aborted) throw error;
    }
  }
}

function send({ headers }: FastifyRequest, reply: FastifyReply, answer: AddonAnswer): void {
  const { status, body, cacheControl, etag } = answer;
  void reply.header('cache-control', cacheControl);
  if (etag) void reply.header('etag', etag);
  if (etag && hasTag(headers['if-none-match'], etag)) return void reply.status(304).send();
  void reply.status(status).type('application/json; charset=utf-8').send(body);
}

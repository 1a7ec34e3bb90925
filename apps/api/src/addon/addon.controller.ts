import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import {
  ApiExcludeEndpoint,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Config, CONFIG, Public } from '#platform';
import { Addon, type Answer, readAddress } from '#playback';
import { AddonStreams, CatalogAnswer, ManifestAnswer, MetaAnswer } from './addon.dto.js';
import { askerOf } from './asker.js';
import { hasTag } from './has-tag.js';

const ID = { name: 'id', description: 'As the catalogue has it; percent-encoded' };

/**
 * The add-on as Stremio speaks to it. The routes are for the documentation and the metrics: what a URL means is read from the
 * path as it was sent, since a session may be named like a resource.
 */
@ApiTags('add-on')
@ApiParam({
  name: 'session',
  required: false,
  description: 'Chosen by the client: 1 to 64 of `A-Z a-z 0-9 _ -`',
})
@Public()
@Controller(['addon', 'addon/:session'])
export class AddonController {
  constructor(
    private readonly addon: Addon,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get('manifest.json')
  @ApiOperation({ summary: 'What the add-on offers; the URL to install it by' })
  @ApiOkResponse({ type: ManifestAnswer })
  @ApiNotFoundResponse({ description: 'A session that is none' })
  manifest(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Get(['catalog/:type/:id.json', 'catalog/:type/:id/:extra.json'])
  @ApiOperation({ summary: 'The guided workouts, a hundred at a time' })
  @ApiParam(ID)
  @ApiOkResponse({ type: CatalogAnswer })
  catalog(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Get('meta/:type/:id.json')
  @ApiOperation({ summary: 'One of them with its episodes' })
  @ApiParam(ID)
  @ApiOkResponse({ type: MetaAnswer })
  @ApiNotFoundResponse({ type: MetaAnswer, description: 'There is no such workout' })
  meta(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Get('stream/:type/:id.json')
  @ApiOperation({ summary: 'Where an episode can be played, best first; or why it cannot be' })
  @ApiParam(ID)
  @ApiOkResponse({ type: AddonStreams })
  streams(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Get('*')
  @ApiExcludeEndpoint()
  anything(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const asker = askerOf(request, reply, this.config);
    try {
      send(request, reply, await this.addon.answer(readAddress(request.originalUrl), asker));
    } catch (error) {
      // Nobody is there to be answered.
      if (!asker.gone?.aborted) throw error;
    }
  }
}

function send({ headers }: FastifyRequest, reply: FastifyReply, answer: Answer): void {
  const { status, body, cacheControl, etag } = answer;
  void reply.header('cache-control', cacheControl);
  if (etag) void reply.header('etag', etag);
  if (etag && hasTag(headers['if-none-match'], etag)) return void reply.status(304).send();
  void reply.status(status).type('application/json; charset=utf-8').send(body);
}

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Controller, Get, Headers, Param, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import {
  ApiBadRequestResponse,
  ApiBearerAuth,
  ApiHeader,
  ApiNotFoundResponse,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { type FastifyReply } from 'fastify';
import { type AuthenticatedRequest, ErrorAnswer, IdParam, MAY_WAIT, preferredWaitMs } from '#platform';
import { LARGEST_BYTES, Streams } from '#streams';
import { acceptsGzip } from './accepts-gzip.js';
import { type Coding, entityTag, tagsIn } from './entity-tag.js';
import { StreamsAnswer, StreamsQuery } from './streams.dto.js';

const unzip = promisify<Buffer, object, Buffer>(gunzip);

@ApiTags('activities')
@ApiBearerAuth()
@Controller('v1/activities')
export class StreamsController {
  constructor(private readonly streams: Streams) {}

  @Get(':id/streams')
  @RouteConfig(MAY_WAIT)
  @ApiOperation({ summary: 'What was recorded second by second, or why it is not here' })
  @ApiHeader({ name: 'If-None-Match', required: false })
  @ApiHeader({
    name: 'Prefer',
    required: false,
    description:
      '`wait=5`: streams that are not here yet are fetched now, and waited for, ten seconds at most',
  })
  @ApiOkResponse({
    type: StreamsAnswer,
    description: 'Gzipped where the client takes that; with an ETag where there are streams',
  })
  @ApiNotModifiedResponse({ description: 'The client has that version' })
  @ApiBadRequestResponse({ type: ErrorAnswer })
  @ApiNotFoundResponse({ type: ErrorAnswer })
  async read(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) activityId: string,
    @Query() cut: StreamsQuery,
    @Headers() headers: Readonly<Record<string, string | undefined>>,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const waitMs = preferredWaitMs(headers.prefer);
    const tags = tagsIn(headers['if-none-match'], cut);
    const reading = await this.streams.read({ athleteId, activityId, cut, has: [...tags.keys()], waitMs });
    if (waitMs > 0) void reply.header('preference-applied', `wait=${waitMs / 1_000}`);
    void reply.header('vary', 'accept-encoding');
    if (reading.kind === 'without')
      return void reply.header('cache-control', 'no-store').send(reading.answer);
    const coding = acceptsGzip(headers['accept-encoding']) ? 'gzip' : 'identity';
    const own = entityTag(reading.version, cut, coding);
    // Kept by the client, but never used without asking: the token may be of somebody else by then.
    void reply.header('cache-control', 'private, no-cache');
    // What a client has, in whatever coding, is named as it named it.
    if (reading.kind === 'unchanged')
      return void reply
        .status(304)
        .header('etag', tags.get(reading.version) ?? own)
        .send();
    void reply.header('etag', own).type('application/json; charset=utf-8');
    await sendBody(reply, reading.bytes, coding);
  }
}

async function sendBody(reply: FastifyReply, bytes: Buffer, coding: Coding): Promise<void> {
  if (coding === 'gzip') return void reply.header('content-encoding', 'gzip').send(bytes);
  void reply.send(await unzip(bytes, { maxOutputLength: LARGEST_BYTES }));
}

import { createGunzip } from 'node:zlib';
import { Controller, Get, Headers, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiNotModifiedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type FastifyReply } from 'fastify';
import {
  type AuthenticatedRequest,
  IdParam,
  MAY_WAIT,
  preferredWaitMs,
  replyClosed,
  RouteFacts,
  vary,
} from '#platform';
import { cutName, Streams } from '#streams';
import { Refuses } from '../openapi/common-answers.js';
import { acceptsGzip, type Coding, entityTag, tagsIn } from './entity-tag.js';
import { StreamsAnswer, StreamsQuery } from './streams.dto.js';

// The recording of a day has 5 MB. It is unzipped in pieces of this size.
const PIECE_BYTES = 64 * 1024;

/** Reads the streams of an activity, whole or as a cut. A cut that does not get its turn in time is answered with 503. */
@ApiTags('streams')
@Controller('v1/activities')
export class StreamsController {
  constructor(private readonly streams: Streams) {}

  @Get(':id/streams')
  @RouteFacts(MAY_WAIT)
  @ApiOperation({
    operationId: 'getStreams',
    summary: 'Read an activity’s streams, or why they are missing',
    description:
      'Streams are fetched in the background, newest activities first. `status` is `success` if streams are stored. Otherwise `status` is the state of the fetch, and `stream_data` is null. With `Prefer: wait=5`, streams that are not stored yet are fetched now.',
  })
  @ApiHeader({ name: 'If-None-Match', required: false, description: 'The `ETag` of an earlier answer' })
  @ApiHeader({
    name: 'Prefer',
    required: false,
    description:
      '`wait=5`: fetch streams that are not stored yet, and wait up to 5 seconds for them. At most 10 seconds are granted',
  })
  @ApiOkResponse({
    type: StreamsAnswer,
    description: 'The streams or their status, gzipped if the client accepts gzip',
    headers: {
      ETag: { description: 'Only with status `success`', schema: { type: 'string' } },
      'Preference-Applied': { description: 'The wait that was granted', schema: { type: 'string' } },
    },
  })
  @ApiNotModifiedResponse({ description: 'The client has this version' })
  @Refuses({ 404: 'The athlete has no such activity' })
  async read(
    @Req() { caller: { athleteId } }: AuthenticatedRequest,
    @Param('id', IdParam) activityId: string,
    @Query() cut: StreamsQuery,
    @Headers() headers: Readonly<Record<string, string | undefined>>,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const waitMs = preferredWaitMs(headers.prefer);
    const tags = tagsIn(headers['if-none-match'], cut);
    // A cut may have to wait for other cuts. It is aborted if the client disconnects.
    const signal = cutName(cut) ? replyClosed(reply) : undefined;
    const query = { athleteId, activityId, cut, knownVersions: [...tags.keys()], waitMs, signal };
    const result = await this.streams.read(query).catch((error: unknown) => {
      if (signal?.aborted) return undefined;
      throw error;
    });
    if (!result) return;
    if (waitMs > 0) void reply.header('preference-applied', `wait=${waitMs / 1_000}`);
    vary(reply, 'accept-encoding');
    if (result.kind === 'notStored')
      return void reply.header('cache-control', 'no-store').send(result.answer);
    const coding = acceptsGzip(headers['accept-encoding']) ? 'gzip' : 'identity';
    const own = entityTag(result.version, cut, coding);
    // The client may keep the answer but must revalidate: it may use another athlete's token at the next request.
    void reply.header('cache-control', 'private, no-cache');
    // A 304 repeats the tag that the client sent, for gzip or identity.
    if (result.kind === 'unchanged')
      return void reply
        .status(304)
        .header('etag', tags.get(result.version) ?? own)
        .send();
    void reply.header('etag', own).type('application/json; charset=utf-8');
    sendBody(reply, result.bytes, coding);
  }
}

/** Unzips no faster than the reader reads. If the whole body were unzipped at once, each reader who takes nothing would keep megabytes in memory. */
function sendBody(reply: FastifyReply, bytes: Buffer, coding: Coding): void {
  if (coding === 'gzip') return void reply.header('content-encoding', 'gzip').send(bytes);
  // The deadline has answered meanwhile, so nothing would read the stream or handle its errors.
  if (reply.sent) return;
  const unzip = createGunzip({ chunkSize: PIECE_BYTES });
  void reply.send(unzip);
  unzip.end(bytes);
}

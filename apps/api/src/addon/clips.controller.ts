import { Controller, Get, Headers, Param, Res } from '@nestjs/common';
import {
  ApiHeader,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { type FastifyReply } from 'fastify';
import { NotFound, Public } from '#platform';
import { byteRange, CLIPS } from '#playback';
import { Refuses } from '../openapi/common-answers.js';
import { hasTag } from './addon-http.js';

const video = { 'video/mp4': { schema: { type: 'string' as const, format: 'binary' } } };

/** Serves the clips that explain a failure, with ranges and ETags. */
@ApiTags('add-on')
@Public()
@Controller('addon/clips')
export class ClipsController {
  @Get(':cause.mp4')
  @ApiOperation({
    operationId: 'getClip',
    summary: 'Play a clip that says why the video cannot be played, and what to do',
    description: 'There is one clip for each cause, because players show no error messages.',
  })
  @ApiHeader({ name: 'Range', required: false, description: 'The range of bytes to answer' })
  @ApiHeader({ name: 'If-None-Match', required: false, description: 'The `ETag` of an earlier answer' })
  @ApiOkResponse({ description: 'The clip', content: video })
  @ApiResponse({ status: 206, description: 'The requested part', content: video })
  @ApiNotModifiedResponse({ description: 'The client has this version' })
  @Refuses({ 404: 'There is no clip for this cause' })
  @ApiResponse({ status: 416, description: 'The range begins beyond the end' })
  read(
    @Param('cause') cause: string,
    @Headers() headers: Readonly<Record<string, string | undefined>>,
    @Res() reply: FastifyReply,
  ): void {
    const clip = CLIPS.get(cause);
    if (!clip) throw new NotFound();
    const { bytes, etag } = clip;
    void reply.headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'public, max-age=86400' });
    if (hasTag(headers['if-none-match'], etag)) return void reply.status(304).send();
    void reply.type('video/mp4');
    // If If-Range names another version, a part of this version would not fit the part that the client has.
    const isOfThisVersion = (headers['if-range'] ?? etag) === etag;
    const range = byteRange(isOfThisVersion ? headers.range : undefined, bytes.length);
    if (range.kind === 'whole') return void reply.send(bytes);
    if (range.kind === 'none')
      return void reply.status(416).header('content-range', `bytes */${bytes.length}`).send();
    const { first, last } = range;
    void reply.status(206).header('content-range', `bytes ${first}-${last}/${bytes.length}`);
    void reply.send(bytes.subarray(first, last + 1));
  }
}

import { Controller, Get, Headers, Param, Res } from '@nestjs/common';
import {
  ApiHeader,
  ApiNotFoundResponse,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiProduces,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { type FastifyReply } from 'fastify';
import { ErrorAnswer, NotFound, Public } from '#platform';
import { byteRange, CLIPS } from '#playback';
import { hasTag } from './has-tag.js';

const video = { 'video/mp4': { schema: { type: 'string' as const, format: 'binary' } } };

@ApiTags('add-on')
@Public()
@Controller('addon/clips')
export class ClipsController {
  @Get(':cause.mp4')
  @ApiOperation({ summary: 'What is played where the video cannot be: says what to do' })
  @ApiHeader({ name: 'Range', required: false })
  @ApiHeader({ name: 'If-None-Match', required: false })
  @ApiProduces('video/mp4')
  @ApiOkResponse({ content: video })
  @ApiResponse({ status: 206, description: 'The part that was asked for', content: video })
  @ApiNotModifiedResponse()
  @ApiNotFoundResponse({ type: ErrorAnswer, description: 'A cause that is not answered with a clip' })
  @ApiResponse({ status: 416, description: 'Beyond the end' })
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
    // A part of another version than the client has the rest of would not fit.
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

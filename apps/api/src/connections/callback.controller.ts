import { Controller, Get, Inject, Param, Query, Res } from '@nestjs/common';
import {
  ApiFoundResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { type FastifyReply } from 'fastify';
import { type CallbackQuery, Connecting, PROVIDERS, withAnswer } from '#connections';
import { DependencyUnavailable, ErrorAnswer, type Logger, LOGGER, Public } from '#platform';
import { answerOf, awayAnswer, type CallbackAnswer } from './callback-answer.js';
import { PAGE_HEADERS, resultPage } from './result-page.js';

/** Where the vendor sends the browser back to. Nobody is signed in here: the state says whose consent it is. */
@ApiTags('connections')
@Public()
@Controller('oauth')
export class CallbackController {
  constructor(
    private readonly connecting: Connecting,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Get(':provider/callback')
  @ApiOperation({ summary: 'The way back from the vendor; for browsers' })
  @ApiParam({ name: 'provider', enum: PROVIDERS })
  @ApiFoundResponse({
    description:
      'To return_url with `provider` and `result`: connected, denied, missing_scope (with `missing`), already_connected or failed',
  })
  @ApiOkResponse({ description: 'Without a return_url: a page that says how it went' })
  @ApiNotFoundResponse({ type: ErrorAnswer, description: 'This vendor is not offered here' })
  async callback(
    @Param('provider') name: string,
    @Query() query: CallbackQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    try {
      const outcome = await this.connecting.finish(name, query);
      const answer = answerOf(outcome);
      if (!outcome.returnUrl) return show(reply, answer);
      const { provider } = outcome;
      const location = withAnswer(outcome.returnUrl, {
        provider,
        result: answer.result,
        missing: answer.missing,
      });
      void reply.header('cache-control', 'no-store').redirect(location, 302);
    } catch (error) {
      // A person is looking at this: words, where other routes answer JSON.
      if (!(error instanceof DependencyUnavailable)) throw error;
      this.logger.error({ err: error, request_id: reply.request.id }, 'callback failed');
      void reply.header('retry-after', String(error.retryAfterSeconds));
      show(reply, awayAnswer);
    }
  }
}

function show(reply: FastifyReply, answer: CallbackAnswer): void {
  void reply.status(answer.status).headers(PAGE_HEADERS).send(resultPage(answer));
}

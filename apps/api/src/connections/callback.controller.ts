import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  ApiFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import {
  type CallbackQuery,
  ConsentConfirmation,
  ConnectFlow,
  PROVIDERS,
  newSecret,
  VendorUnreachable,
  withAnswer,
} from '#connections';
import {
  type Config,
  CONFIG,
  DependencyUnavailable,
  type Logger,
  LOGGER,
  NotFound,
  Public,
  RouteFacts,
} from '#platform';
import { Refuses } from '../openapi/common-answers.js';
import {
  answerOf,
  awayAnswer,
  type CallbackAnswer,
  declinedAnswer,
  notOfferedAnswer,
  strangeFormAnswer,
} from './callback-answer.js';
import { ConfirmOffer, ConsentErrorAnswer, ConsentForm } from './connections.dto.js';
import { ConsentCookie, csrfOf, TAKES_FORM } from './consent-form.js';
import { consentPage, pageHeaders, resultPage } from './pages.js';

const page = { schema: { type: 'string' as const } };
const offered = { schema: { $ref: getSchemaPath(ConfirmOffer) } };
// JSON for a client that accepts it.
const pageOrJson = {
  'text/html': page,
  'application/json': { schema: { $ref: getSchemaPath(ConsentErrorAnswer) } },
};

/**
 * The vendor sends the browser back here, without a signed-in athlete. The athlete who began may have sent the link to another person, who
 * then gave the consent. So nothing is connected before a confirmation.
 */
@ApiTags('connections')
@Public()
@Controller('oauth')
export class CallbackController {
  private readonly cookie: ConsentCookie;

  constructor(
    private readonly connecting: ConnectFlow,
    private readonly confirming: ConsentConfirmation,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.cookie = new ConsentCookie(config.http.publicUrl.startsWith('https:'));
  }

  @Get(':provider/callback')
  @ApiOperation({
    operationId: 'receiveConsent',
    summary: 'Receive the browser that comes back from the vendor',
    description:
      'The vendor redirects here. The consent is held and connects nothing until it is confirmed, within ten minutes. With a `return_url` the browser is redirected there with `provider`, `result=confirm` and `confirm`. If there is nothing to confirm, `result` is `denied`, `missing_scope` or `failed`; with `missing_scope`, `missing` lists the scopes. Without a `return_url`, a client that accepts `application/json` gets the same fields as JSON. A browser gets a page that names the account and asks the person to confirm.',
  })
  @ApiParam({ name: 'provider', enum: PROVIDERS })
  @ApiFoundResponse({ description: 'A redirect to `return_url`' })
  @ApiQuery({ name: 'state', required: false, description: 'The `state` of the authorize URL' })
  @ApiQuery({ name: 'code', required: false, description: 'The vendor’s code' })
  @ApiQuery({ name: 'scope', required: false, description: 'The scopes that the athlete granted' })
  @ApiQuery({ name: 'error', required: false, description: 'The vendor’s reason for sending no code' })
  @ApiExtraModels(ConfirmOffer, ConsentErrorAnswer)
  @ApiOkResponse({
    content: { 'application/json': offered, 'text/html': page },
    description: 'Without a `return_url`: the consent to confirm, as JSON or as a page',
  })
  @Refuses(
    {
      400: 'The link was used before, is too old or incomplete, or the vendor reported an error',
      403: 'The person declined, or a permission is missing',
      404: 'This vendor is not offered here',
      503: 'A server that this request needs does not answer; load the page again',
    },
    pageOrJson,
  )
  async callback(
    @Param('provider') name: string,
    @Query() query: CallbackQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readably(request, reply, async () => {
      const browser = wantsJson(request) ? undefined : newSecret();
      const { provider, title, end, returnUrl } = await this.connecting.finish(name, query, browser);
      void reply.header('cache-control', 'no-store');
      if (end.kind !== 'confirm') {
        const answer = answerOf(provider, end);
        if (!returnUrl) return this.show(request, reply, answer, provider);
        const { result, missing } = answer;
        return void reply.redirect(withAnswer(returnUrl, { provider, result, missing }), 302);
      }
      const { confirm, account } = end;
      const offer = { provider, result: 'confirm', confirm } as const;
      if (returnUrl) return void reply.redirect(withAnswer(returnUrl, offer), 302);
      if (!browser) return void reply.send(offer satisfies ConfirmOffer);
      const question = { title, account, confirm, csrf: csrfOf(browser) };
      void reply
        .headers(pageHeaders({ posts: true }))
        .header('set-cookie', this.cookie.header(confirm, browser));
      void reply.send(consentPage(question, this.config.app));
    });
  }

  @Post(':provider/callback')
  @HttpCode(200)
  @RouteFacts(TAKES_FORM)
  @ApiOperation({
    operationId: 'answerConsentPage',
    summary: 'Submit the form of our own consent page',
    description:
      'Only our own page sends this: the form has to match a cookie of the browser that got the page. The answer is a page.',
  })
  @ApiParam({ name: 'provider', enum: PROVIDERS })
  @ApiConsumes('application/x-www-form-urlencoded')
  @ApiBody({ type: ConsentForm })
  @ApiOkResponse({ description: 'A page with the result', content: { 'text/html': page } })
  @Refuses(
    {
      400: 'The consent was used before or is too old',
      403: 'The form does not match the browser’s cookie, or a permission is missing',
      404: 'This vendor is not offered here',
      409: 'The account is connected to another athlete, or this athlete has another account',
      502: 'The vendor does not answer, or refuses this app',
      503: 'A server that this request needs does not answer',
    },
    pageOrJson,
  )
  async answer(
    @Param('provider') name: string,
    @Body() form: Readonly<Record<string, unknown>> | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readably(request, reply, async () => {
      const { confirm, csrf, decision } = form ?? {};
      const site = request.headers['sec-fetch-site'];
      const browser =
        typeof confirm === 'string' && typeof csrf === 'string' && (site ?? 'same-origin') === 'same-origin'
          ? this.cookie.read(request.headers.cookie, confirm, csrf)
          : undefined;
      if (!browser) return this.show(request, reply, strangeFormAnswer);
      const asked = [name, String(confirm), { browser }] as const;
      if (decision !== 'yes') {
        const { title } = await this.confirming.decline(...asked);
        return this.show(request, reply, declinedAnswer(title));
      }
      const { provider, end } = await this.confirming.confirm(...asked);
      this.show(request, reply, answerOf(provider, end));
    });
  }

  /** Shows NotFound and DependencyUnavailable as a page, because a person may read it. A client that wants JSON gets JSON. */
  private async readably(
    request: FastifyRequest,
    reply: FastifyReply,
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof NotFound) return this.show(request, reply, notOfferedAnswer(error.message));
      if (!(error instanceof DependencyUnavailable || error instanceof VendorUnreachable)) throw error;
      this.logger.error({ err: error, request_id: request.id }, 'callback failed');
      void reply.header('retry-after', String(error.retryAfterSeconds));
      this.show(request, reply, awayAnswer);
    }
  }

  private show(
    request: FastifyRequest,
    reply: FastifyReply,
    answer: CallbackAnswer,
    provider?: string,
  ): void {
    const { status, result, code, heading, text, advice, missing } = answer;
    void reply.status(status).header('cache-control', 'no-store');
    if (!wantsJson(request))
      return void reply.headers(pageHeaders()).send(resultPage(answer, this.config.app));
    const details = missing ? [`scope: ${missing} is missing`] : [];
    void reply.send({
      provider,
      result,
      error: `${heading}. ${text} ${advice}`,
      code,
      details,
      request_id: request.id,
    });
  }
}

/** A browser accepts HTML first; a program that wants JSON accepts JSON. */
function wantsJson({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('application/json') && !accept.includes('text/html');
}

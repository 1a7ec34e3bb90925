import { Body, Controller, Delete, Get, Header, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type BegunSession, SessionCookie, Sessions, SignInCodes } from '#connections';
import {
  AccessCheck,
  type AuthenticatedRequest,
  BodyLimit,
  type Config,
  CONFIG,
  InvalidInput,
  type Person,
  Public,
  SessionOnly,
  type SignedIn,
  ThrottledByNetwork,
  TokenOnly,
} from '#platform';
import { Sources, VENDOR_IDS, VENDORS, vendorsWith } from '#vendors';
import { Refuses } from '../openapi/common-answers.js';
import {
  LONGEST_TOKEN,
  SessionAnswer,
  type SessionVendorAnswer,
  SignIn,
  SignInCodeAnswer,
} from './session.dto.js';

const SET_COOKIE = {
  'Set-Cookie': { description: 'The cookie of the session', schema: { type: 'string' as const } },
};

/** Signs a browser in and out: the console sends a cookie, so that no page can read a token. */
@ApiTags('console')
@Controller('v1/session')
export class SessionController {
  private readonly cookie: SessionCookie;
  private readonly vendors: SessionVendorAnswer[];

  constructor(
    private readonly sessions: Sessions,
    private readonly codes: SignInCodes,
    private readonly access: AccessCheck,
    sources: Sources,
    @Inject(CONFIG) { http }: Config,
  ) {
    this.cookie = new SessionCookie(http.publicUrl);
    this.vendors = vendorsOf(sources);
  }

  @Post()
  @Public()
  @ThrottledByNetwork()
  @BodyLimit(LONGEST_TOKEN + 1_024)
  @Header('cache-control', 'no-store')
  @ApiOperation({
    operationId: 'signIn',
    summary: 'Sign in with a token or a one-time code',
    description:
      'Send either `token` or `code`. The answer sets a cookie that the browser sends from then on; a page cannot read it. Service keys do not sign in.',
  })
  @ApiCreatedResponse({ type: SessionAnswer, description: 'The new session', headers: SET_COOKIE })
  @Refuses({
    401: 'The token is wrong or expired (`UNAUTHENTICATED`), or the code is unknown, used or expired (`SIGN_IN_CODE_INVALID`)',
    403: 'Service keys do not sign in',
    503: 'A server that this request needs does not answer; try again',
  })
  async signIn(
    @Body() { token, code }: SignIn,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SessionAnswer> {
    const { secret, person } = await this.begin(token, code);
    const seconds = Math.max(0, Math.floor((person.expiresAtMs - Date.now()) / 1_000));
    void reply.header('set-cookie', this.cookie.set(secret, seconds, isHttps(request)));
    return this.answerOf(person);
  }

  @Get()
  @SessionOnly()
  @Header('cache-control', 'no-store')
  @ApiOperation({
    operationId: 'getSession',
    summary: 'Read the session of the cookie',
    description: 'After a reload, a page gets the `csrf_token` of its session here.',
  })
  @ApiOkResponse({ type: SessionAnswer, description: 'The session' })
  read(@Req() { caller }: AuthenticatedRequest): SessionAnswer {
    return this.answerOf(caller as SignedIn);
  }

  @Delete()
  @SessionOnly()
  @HttpCode(204)
  @ApiOperation({
    operationId: 'signOut',
    summary: 'Sign out',
    description:
      'Every replica refuses the session within five seconds. Event streams of the session end with their next event or heartbeat.',
  })
  @ApiNoContentResponse({ description: 'The session has ended' })
  async signOut(
    @Req() request: AuthenticatedRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.sessions.end((request.caller as SignedIn).session.hash);
    void reply.header('set-cookie', this.cookie.clear(isHttps(request)));
  }

  @Post('codes')
  @TokenOnly()
  @Header('cache-control', 'no-store')
  @ApiOperation({
    operationId: 'createSignInCode',
    summary: 'Create a code that signs in once',
    description:
      'For a link `…/console#code=…`: a token never stands in a URL. The code signs in once, within an hour, as the person of the token. A session cannot create codes.',
  })
  @ApiCreatedResponse({ type: SignInCodeAnswer, description: 'The new code' })
  async createCode(@Req() { caller }: AuthenticatedRequest): Promise<SignInCodeAnswer> {
    const { code, expiresAt } = await this.codes.create(caller as Person);
    return { code, expires_at: expiresAt.toISOString() };
  }

  private async begin(token: string | undefined, code: string | undefined): Promise<BegunSession> {
    if ((token === undefined) === (code === undefined))
      throw new InvalidInput(['token: send either token or code']);
    if (code !== undefined) return this.sessions.beginByCode(code);
    return this.sessions.begin(await this.access.personOf(token ?? ''));
  }

  private answerOf({ role, athleteId, subject, account, expiresAtMs, session }: SignedIn): SessionAnswer {
    return {
      role,
      athlete_id: athleteId,
      subject,
      account,
      expires_at: new Date(expiresAtMs).toISOString(),
      csrf_token: session.csrfToken,
      vendors: this.vendors,
    };
  }
}

function vendorsOf(sources: Sources): SessionVendorAnswer[] {
  const withActivities = vendorsWith('activities');
  const withSleep = vendorsWith('sleep');
  return VENDOR_IDS.map((provider) => {
    const hasActivities = withActivities.includes(provider);
    return {
      provider,
      title: VENDORS[provider].title,
      records: [
        ...(hasActivities ? ['activities' as const] : []),
        ...(withSleep.includes(provider) ? ['sleep' as const] : []),
      ],
      has_history: !hasActivities || sources.activities(provider).history === 'whole',
    };
  });
}

const isHttps = ({ protocol }: Pick<FastifyRequest, 'protocol'>) => protocol === 'https';

import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  Module,
  Optional,
} from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { type FastifyReply } from 'fastify';
import { Clock } from '../clock/clock.js';
import { CONFIG, LOGGER } from '../process/surroundings.module.js';
import { type Config } from '../config/config.js';
import { type Logger } from '../logging/logger.js';
import { ThrottleCheck } from '../throttle/throttle.module.js';
import { TokenVerifier } from './token-verifier.js';
import {
  ACCESS,
  type Access,
  type GuardedRequest,
  requestOf,
  type Requirements,
  SCOPES,
  scopesOf,
} from './access.js';
import { Forbidden, Unauthenticated } from '../errors/app-error.js';
import { type Person, type ServiceKey, type SpanningCaller } from './caller.js';
import { isServiceKey, KEY_VERIFIER, type KeyVerifier } from './key-verifier.js';
import { requireCsrfToken, SESSION_VERIFIER, type SessionVerifier } from './session-verifier.js';

/**
 * Admits a request in three steps: it verifies the token, the service key or the session and sets `request.caller`, charges the request to
 * that caller, and checks the role or the scope. So a refused caller is charged, too, and the refusal has the rate-limit headers. The cookie
 * of a session counts only if the request has no `Authorization`. Throws Unauthenticated, TooManyRequests or Forbidden.
 */
@Injectable()
export class AccessCheck {
  constructor(
    private readonly verifier: TokenVerifier,
    @Optional() @Inject(KEY_VERIFIER) private readonly keys?: KeyVerifier,
    @Optional() @Inject(SESSION_VERIFIER) private readonly sessions?: SessionVerifier,
    @Optional() private readonly throttle?: ThrottleCheck,
  ) {}

  // For a remembered token, key or session whose requests are leased, this method returns no promise. A promise per guard and request costs
  // as much as the check itself.
  admit(request: GuardedRequest, reply: FastifyReply, needed: Requirements): true | Promise<true> {
    const caller = this.callerOf(request);
    if (caller instanceof Promise)
      return caller.then((known) => this.admitCaller(known, request, reply, needed));
    return this.admitCaller(caller, request, reply, needed);
  }

  /** The person of a token that is not in a header. Throws Forbidden for a service key. */
  async personOf(token: string): Promise<Person> {
    if (isServiceKey(token))
      throw new Forbidden('Service keys do not sign in: send the token of an operator or an athlete');
    return this.verifier.recall(token) ?? this.verifier.verify(token);
  }

  /**
   * For an answer that takes long: throws Unauthenticated if the token has expired, the key was revoked or the session has ended since the
   * request was admitted.
   */
  async assertStillValid({ caller, headers }: Pick<GuardedRequest, 'caller' | 'headers'>): Promise<void> {
    if (caller?.kind === 'person' && caller.session) return this.assertSession(headers.cookie);
    const token = bearerToken(headers.authorization);
    if (!isServiceKey(token)) await this.verifier.verify(token);
    else if (!this.keys?.recall(token)) await this.keys?.verify(token);
  }

  private async assertSession(cookie = ''): Promise<void> {
    const secret = this.sessions?.secretIn(cookie);
    if (secret === undefined) throw new Unauthenticated('The session has ended');
    if (!this.sessions?.recall(secret)) await this.sessions?.verify(secret);
  }

  private admitCaller(
    caller: SpanningCaller,
    request: GuardedRequest,
    reply: FastifyReply,
    needed: Requirements,
  ): true | Promise<true> {
    request.caller = caller;
    const charged = this.throttle?.charge(request, reply) ?? true;
    if (charged !== true) return charged.then(() => authorise(caller, request, needed));
    return authorise(caller, request, needed);
  }

  private callerOf({ headers }: GuardedRequest): SpanningCaller | Promise<SpanningCaller> {
    const { authorization, cookie } = headers;
    if (authorization === undefined && cookie !== undefined && this.sessions) {
      const secret = this.sessions.secretIn(cookie);
      if (secret !== undefined) return this.sessions.recall(secret) ?? this.sessions.verify(secret);
    }
    const token = bearerToken(authorization);
    if (isServiceKey(token)) return this.serviceOf(token);
    return this.verifier.recall(token) ?? this.verifier.verify(token);
  }

  private serviceOf(token: string): SpanningCaller | Promise<SpanningCaller> {
    if (!this.keys) throw new Unauthenticated('Service keys are not accepted here');
    const key = this.keys.recall(token);
    if (key) return { kind: 'service', key };
    return this.keys.verify(token).then((verified) => ({ kind: 'service', key: verified }));
  }
}

function authorise(caller: SpanningCaller, request: GuardedRequest, needed: Requirements): true {
  if (caller.kind === 'service') authoriseService(caller.key, request, needed);
  else authorisePerson(caller, request, needed);
  return true;
}

function authorisePerson(person: Person, request: GuardedRequest, { access }: Requirements): void {
  if (person.session) requireCsrfToken(request, person.session);
  if (access === 'admin' && person.role !== 'admin') throw new Forbidden('This needs the admin role');
  if (access === 'service') throw new Forbidden('This needs a service key');
  if (access === 'session' && !person.session)
    throw new Unauthenticated('This needs a session: sign in with POST /v1/session');
  if (access === 'token' && person.session)
    throw new Forbidden('This needs the token itself: a session is not enough');
}

function authoriseService(key: ServiceKey, { method }: GuardedRequest, needed: Requirements): void {
  if (needed.access === 'admin') throw new Forbidden('This needs the token of an operator');
  if (needed.access === 'token' || needed.access === 'session')
    throw new Forbidden('This is for persons: a service key does not sign in');
  requireScope(key, scopesOf(method, needed));
}

/** Throws Forbidden if the key has none of these scopes. */
export function requireScope(key: ServiceKey, scopes: readonly string[]): void {
  if (!scopes.some((scope) => key.scopes.includes(scope)))
    throw new Forbidden(`The service key lacks the scope ${scopes.join(' or ')}`);
}

function bearerToken(header: string | undefined): string {
  const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(header ?? '') ?? [];
  if (!token) throw new Unauthenticated('A bearer token or a session is required');
  return token;
}

/**
 * Requires a valid token for every handler that is not declared `@Public()`. The guard decides by the handler and never by the path, so an
 * encoded, doubled or trailing slash cannot avoid it.
 */
@Injectable()
class AuthGuard implements CanActivate {
  private readonly needsByHandler = new Map<unknown, Map<unknown, Requirements>>();

  constructor(
    private readonly reflector: Reflector,
    private readonly accessCheck: AccessCheck,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const needed = this.needsOf(context);
    if (needed.access === 'public') return true;
    return this.accessCheck.admit(requestOf(context), context.getArgByIndex<FastifyReply>(1), needed);
  }

  /** Reads a handler's metadata once: reading it costs more than the rest of this guard. */
  private needsOf(context: ExecutionContext): Requirements {
    const controller = context.getClass();
    const handler = context.getHandler();
    const ofController = this.needsByHandler.get(controller) ?? new Map<unknown, Requirements>();
    const known = ofController.get(handler);
    if (known) return known;
    const read = <T>(name: symbol) =>
      this.reflector.getAllAndOverride<T | undefined>(name, [handler, controller]);
    const needed = { access: read<Access>(ACCESS), scopes: read<readonly string[]>(SCOPES) };
    this.needsByHandler.set(controller, ofController.set(handler, needed));
    return needed;
  }
}

/** Provides token verification and the global auth guard. */
@Module({
  providers: [
    {
      provide: TokenVerifier,
      inject: [CONFIG, Clock, LOGGER],
      useFactory: (config: Config, clock: Clock, logger: Logger) =>
        new TokenVerifier(config.auth, clock, logger),
    },
    AccessCheck,
    { provide: APP_GUARD, useClass: AuthGuard },
  ],
  exports: [AccessCheck],
})
export class AuthModule {}

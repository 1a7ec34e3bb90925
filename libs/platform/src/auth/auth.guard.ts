import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Forbidden, Unauthenticated } from '../errors/app-error.js';
import { ACCESS, type Access, type GuardedRequest, requestOf } from './access.js';
import { type Caller } from './caller.js';
import { TokenVerifier } from './token-verifier.js';

/**
 * Default deny, decided by the handler that will run and never by the path: an encoded, doubled or trailing slash
 * reaches the same handler and so the same decision.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  private readonly decided = new Map<unknown, Map<unknown, Access | undefined>>();

  constructor(
    private readonly reflector: Reflector,
    private readonly verifier: TokenVerifier,
  ) {}

  // Answers at once where it can: a promise per guard and request costs as much as the check itself.
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.accessOf(context);
    if (access === 'public') return true;

    const request = requestOf(context);
    const token = bearerToken(request.headers.authorization);
    const known = this.verifier.recall(token);
    if (known) return admit(request, known, access);
    return this.verifier.verify(token).then((caller) => admit(request, caller, access));
  }

  /** The same for every request to a handler, so it is looked up once: metadata costs more than the rest of this guard. */
  private accessOf(context: ExecutionContext): Access | undefined {
    const controller = context.getClass();
    const handler = context.getHandler();
    const known = this.decided.get(controller) ?? new Map<unknown, Access | undefined>();
    if (known.has(handler)) return known.get(handler);
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [handler, controller]);
    this.decided.set(controller, known.set(handler, access));
    return access;
  }
}

function admit(request: GuardedRequest, caller: Caller, access: Access | undefined): true {
  if (access === 'admin' && caller.role !== 'admin') throw new Forbidden('This needs the admin role');
  request.caller = caller;
  return true;
}

function bearerToken(header: string | undefined): string {
  const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(header ?? '') ?? [];
  if (!token) throw new Unauthenticated('A bearer token is required');
  return token;
}

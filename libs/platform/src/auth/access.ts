import { SetMetadata, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type FastifyRequest } from 'fastify';
import { type Caller } from './caller.js';

export type Access = 'public' | 'admin';
export const ACCESS = Symbol('access');

/** Anyone may call this. Without it a route wants a token. */
export const Public = () => SetMetadata(ACCESS, 'public' satisfies Access);

/** Only tokens with the role `admin`. */
export const Admin = () => SetMetadata(ACCESS, 'admin' satisfies Access);

export interface AuthenticatedRequest extends FastifyRequest {
  caller?: Caller;
}

/** The verified caller, as a handler's parameter. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
  if (!caller) throw new Error('A public route has no caller');
  return caller;
});

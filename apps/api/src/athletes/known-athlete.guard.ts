import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Athletes } from '#connections';
import { type AuthenticatedRequest } from '#platform';

/** Behind the auth guard: every handler with a caller may rely on the athlete's row. */
@Injectable()
export class KnownAthleteGuard implements CanActivate {
  constructor(private readonly athletes: Athletes) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
    if (caller) await this.athletes.ensure(caller);
    return true;
  }
}

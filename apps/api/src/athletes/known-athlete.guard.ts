import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Athletes } from '#connections';
import { requestOf } from '#platform';

/** Behind the auth guard: every handler with a caller may rely on the athlete's row. */
@Injectable()
export class KnownAthleteGuard implements CanActivate {
  constructor(private readonly athletes: Athletes) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { caller } = requestOf(context);
    if (!caller || this.athletes.isKnown(caller)) return true;
    return this.athletes.ensure(caller).then(() => true);
  }
}

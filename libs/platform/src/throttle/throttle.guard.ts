import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../auth/access.js';
import { TooManyRequests } from '../errors/app-error.js';
import { Throttle, type ThrottleAnswer } from './throttle.js';

/** Stands behind the auth guard: a route without a caller (health, webhooks, add-on) is not throttled. */
@Injectable()
export class ThrottleGuard implements CanActivate {
  constructor(private readonly throttle: Throttle) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { caller } = requestOf(context);
    if (!caller) return true;
    const leased = this.throttle.takeLeased(caller.athleteId);
    return leased ? passed(leased) : this.throttle.take(caller.athleteId).then(passed);
  }
}

function passed(answer: ThrottleAnswer): true {
  if (!answer.allowed) throw new TooManyRequests(Math.ceil(answer.retryAfterMs / 1_000));
  return true;
}

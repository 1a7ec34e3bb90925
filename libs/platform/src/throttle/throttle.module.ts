import { createHmac } from 'node:crypto';
import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Global,
  Inject,
  Injectable,
  Module,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import { type Config } from '../config/config.js';
import { type Logger } from '../logging/logger.js';
import { canonicalAddress, networkOf } from '../net/client-network.js';
import { CONFIG, LOGGER } from '../process/surroundings.module.js';
import { type RedisClient } from '../redis/redis.js';
import { REDIS } from '../redis/redis.module.js';
import { Throttle, type ThrottleAnswer } from './throttle.js';
import { type FastifyReply } from 'fastify';
import { type GuardedRequest, requestOf } from '../auth/access.js';
import { type SpanningCaller } from '../auth/caller.js';
import { TooManyRequests } from '../errors/app-error.js';
import { RouteFacts } from '../http/route-facts.js';

const REQUESTS_OF_A_PERSON = 600;
// A backend sends the requests of many athletes under one key.
const REQUESTS_OF_A_KEY = 6_000;
// People behind one address share it, so it is more than a person needs.
const REQUESTS_OF_A_NETWORK = 60;

/** The OpenAPI document derives the 429 and the rate-limit headers of a public route from this extension. */
export const NETWORK_EXTENSION = 'x-throttled-by-network';

/** A public route that takes secrets: each network may try 60 a minute. */
export const ThrottledByNetwork = () =>
  applyDecorators(RouteFacts({ throttledByNetwork: true }), ApiExtension(NETWORK_EXTENSION, true));

type Allowance = readonly [name: string, perMinute: number];

/**
 * Charges a request to its caller, or to its network on routes with `ThrottledByNetwork`. Throws TooManyRequests if no requests are left in
 * the minute. Other routes without a caller (health, webhooks, add-on) have no limit.
 */
@Injectable()
export class ThrottleCheck {
  constructor(
    private readonly throttle: Throttle,
    @Inject(CONFIG) private readonly config: Pick<Config, 'encryptionKeys'>,
  ) {}

  /** Charges a request once. `AccessCheck` charges the requests of known callers; the guard charges those of networks. */
  charge(request: GuardedRequest, reply: FastifyReply): true | Promise<true> {
    if (request.isCharged) return true;
    const allowance = request.caller ? allowanceOf(request.caller) : this.allowanceOfNetwork(request);
    if (!allowance) return true;
    request.isCharged = true;
    const [name, perMinute] = allowance;
    const leased = this.throttle.takeLeased(name, perMinute);
    if (leased) return this.pass(leased, perMinute, reply);
    return this.throttle.take(name, perMinute).then((answer) => this.pass(answer, perMinute, reply));
  }

  /** Redis gets a keyed hash of the network, and not the address of a person. A new encryption key begins new counts. */
  private allowanceOfNetwork({ ip, routeOptions }: GuardedRequest): Allowance | undefined {
    const { throttledByNetwork } = routeOptions.config as { readonly throttledByNetwork?: boolean };
    if (!throttledByNetwork) return undefined;
    const [secret] = this.config.encryptionKeys;
    const hmac = createHmac('sha256', secret?.key ?? '').update(`network ${networkOf(canonicalAddress(ip))}`);
    return [`network:${hmac.digest('base64url')}`, REQUESTS_OF_A_NETWORK];
  }

  /** Sets the rate-limit headers, also on a 429. */
  private pass(
    { allowed, remaining, resetMs }: ThrottleAnswer,
    perMinute: number,
    reply: FastifyReply,
  ): true {
    const resetSeconds = Math.ceil(resetMs / 1_000);
    void reply.headers({
      'ratelimit-limit': String(perMinute),
      'ratelimit-remaining': String(remaining),
      'ratelimit-reset': String(resetSeconds),
    });
    if (!allowed) throw new TooManyRequests(resetSeconds);
    return true;
  }
}

@Injectable()
class ThrottleGuard implements CanActivate {
  constructor(private readonly check: ThrottleCheck) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.check.charge(requestOf(context), context.getArgByIndex<FastifyReply>(1));
  }
}

/** The name of the caller's count, and the requests a minute. Requests of a service key are not charged to the athlete. */
function allowanceOf(caller: SpanningCaller): Allowance {
  return caller.kind === 'service'
    ? [`key:${caller.key.id}`, REQUESTS_OF_A_KEY]
    : [caller.athleteId, REQUESTS_OF_A_PERSON];
}

/** Global, because `AccessCheck` charges callers where there is a throttle. Import it after `AuthModule`: guards run in the order of modules. */
@Global()
@Module({
  providers: [
    {
      provide: Throttle,
      inject: [REDIS, LOGGER],
      useFactory: (redis: RedisClient, logger: Logger) => new Throttle(redis, logger),
    },
    ThrottleCheck,
    { provide: APP_GUARD, useClass: ThrottleGuard },
  ],
  exports: [ThrottleCheck],
})
export class ThrottleModule {}

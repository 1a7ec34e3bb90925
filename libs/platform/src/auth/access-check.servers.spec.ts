import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type FastifyReply } from 'fastify';
import { tokenFor } from '../../../../test/harness/environment.js';
import { required } from '../../../../test/harness/servers.js';
import { SystemClock } from '../clock/clock.js';
import { Forbidden } from '../errors/app-error.js';
import { createLogger } from '../logging/logger.js';
import { createRedis, type RedisClient } from '../redis/redis.js';
import { Throttle } from '../throttle/throttle.js';
import { ThrottleCheck } from '../throttle/throttle.module.js';
import { type GuardedRequest } from './access.js';
import { AccessCheck } from './auth.module.js';
import { TokenVerifier } from './token-verifier.js';

const SECRET = 'a-secret-for-tests-of-at-least-32-characters';
const logger = createLogger({ level: 'silent', process: 'test' });
let redis: RedisClient;
beforeAll(() => {
  // The timeout is long, because Redis answers late on a busy machine.
  const options = { commandTimeout: 30_000 };
  redis = createRedis({ url: required('REDIS_URL'), keyPrefix: `t:${randomUUID()}:` }, logger, options);
});
afterAll(() => redis.disconnect());

/** Sends requests with the token of one athlete. Each request returns the answer of the check, and the headers that were set. */
async function requests() {
  const throttle = new ThrottleCheck(new Throttle(redis, logger), { encryptionKeys: [] });
  const verifier = new TokenVerifier({ keys: { secret: SECRET } }, new SystemClock(), logger);
  const check = new AccessCheck(verifier, undefined, undefined, throttle);
  const authorization = `Bearer ${await tokenFor(randomUUID(), {}, SECRET)}`;
  return (access?: 'admin') => {
    const request = { method: 'GET', headers: { authorization } } as GuardedRequest;
    let headers: Readonly<Record<string, string>> = {};
    const reply = { headers: (set: typeof headers) => (headers = set) } as unknown as FastifyReply;
    return { admit: () => check.admit(request, reply, { access }), headers: () => headers };
  };
}

it('a request with a remembered token and leased requests is admitted in the same turn of the event loop', async () => {
  const send = await requests();
  const first = send().admit();
  expect(first).toBeInstanceOf(Promise);
  await first;
  expect(send().admit()).toBe(true);
});

it('a request that lacks a role is charged and refused in the same turn of the event loop', async () => {
  const send = await requests();
  await send().admit();
  const refused = send('admin');
  expect(refused.admit).toThrow(Forbidden);
  expect(refused.headers()).toMatchObject({ 'ratelimit-limit': '600', 'ratelimit-remaining': '598' });
});

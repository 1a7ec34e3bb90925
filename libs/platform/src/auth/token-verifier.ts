import { types } from 'node:util';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import { LRUCache } from 'lru-cache';
import { type Clock } from '../clock/clock.js';
import { type Config } from '../config/config.js';
import { AppError, Unauthenticated } from '../errors/app-error.js';
import { OneAtATime } from '../process/one-at-a-time.js';
import { type Caller, athleteIdOf } from './caller.js';
import { fetchKeys } from './fetch-keys.js';

// Pinned by the kind of key: a token never chooses its own algorithm, so neither `none` nor an HMAC made with a public
// key gets through.
const SHARED_SECRET_ALGORITHMS = ['HS256'];
const PUBLIC_KEY_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];

const CLOCK_TOLERANCE_SECONDS = 30;
// Verified tokens are remembered, which turns a signature check (about 40 µs) into a map look-up (under 1 µs): as long as they
// are valid where the secret is ours, and for a minute where an issuer may withdraw a key.
const REMEMBERED_TOKENS = 10_000;
const REMEMBERED_MS = 60_000;
const KEYS_TIMEOUT_MS = 2_000;
const KEYS_COOLDOWN_MS = 1_000;

/** The issuer's keys could not be fetched: not the caller's fault, and it passes. */
export class SigningKeysUnavailable extends AppError {
  override readonly code = 'AUTH.KEYS_UNAVAILABLE';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 5;
}

export class TokenVerifier {
  private readonly remembered: LRUCache<string, Caller>;
  private readonly verifying = new OneAtATime<Caller>();
  private readonly verifySignature: (token: string) => Promise<Verified>;

  constructor(
    auth: Config['auth'],
    private readonly clock: Clock,
  ) {
    this.verifySignature = signatureVerifier(auth);
    const ttl = 'secret' in auth.keys ? 0 : REMEMBERED_MS;
    this.remembered = new LRUCache({ max: REMEMBERED_TOKENS, ttl });
  }

  /** The caller of a token verified a moment ago. */
  recall(token: string): Caller | undefined {
    const known = this.remembered.get(token);
    return known && known.expiresAtMs > this.clock.nowMs() ? known : undefined;
  }

  verify(token: string): Promise<Caller> {
    return this.verifying.run(token, async () => {
      const known = this.recall(token);
      if (known) return known;
      const caller = this.callerOf(await this.payloadOf(token));
      this.remembered.set(token, caller);
      return caller;
    });
  }

  private async payloadOf(token: string): Promise<JWTPayload> {
    try {
      return (await this.verifySignature(token)).payload;
    } catch (cause) {
      if (keysAreAway(cause))
        throw new SigningKeysUnavailable('The signing keys cannot be fetched', { cause });
      throw new Unauthenticated(cause instanceof errors.JWTExpired ? 'Token expired' : 'Invalid token', {
        cause,
      });
    }
  }

  private callerOf(payload: JWTPayload): Caller {
    const { sub: subject, iss: issuer = '', exp, iat } = payload;
    if (typeof subject !== 'string' || subject.trim() === '')
      throw new Unauthenticated('Token has no subject');
    // Postgres holds neither a NUL nor half of a surrogate pair.
    if (!isStorable(subject) || !isStorable(issuer)) throw new Unauthenticated('Token names nobody');
    // jose accepts a token issued in the future; nobody honest makes one.
    if (iat !== undefined && iat * 1_000 > this.clock.nowMs() + CLOCK_TOLERANCE_SECONDS * 1_000)
      throw new Unauthenticated('Token is issued in the future');
    return {
      athleteId: athleteIdOf(issuer, subject),
      subject,
      issuer,
      role: payload.role === 'admin' ? 'admin' : 'athlete',
      expiresAtMs: (exp ?? 0) * 1_000,
    };
  }
}

type Verified = { readonly payload: JWTPayload };

function signatureVerifier(auth: Config['auth']): (token: string) => Promise<Verified> {
  const rules: JWTVerifyOptions = {
    issuer: auth.issuer,
    audience: auth.audience,
    requiredClaims: ['sub', 'exp'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  };
  if ('secret' in auth.keys) {
    const key = new TextEncoder().encode(auth.keys.secret);
    return (token: string) => jwtVerify(token, key, { ...rules, algorithms: SHARED_SECRET_ALGORITHMS });
  }
  const keys = createRemoteJWKSet(new URL(auth.keys.jwksUrl), {
    timeoutDuration: KEYS_TIMEOUT_MS,
    [customFetch]: fetchKeys,
  });
  return withCooldown((token) =>
    verifyWithAnyKey(token, keys, { ...rules, algorithms: PUBLIC_KEY_ALGORITHMS }),
  );
}

/** A token that names no key may be signed with any of the issuer's. */
async function verifyWithAnyKey(
  token: string,
  keys: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<Verified> {
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      const verified = await jwtVerify(token, key, options).catch(unlessForged);
      if (verified) return verified;
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function unlessForged(error: unknown): undefined {
  if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
}

/** An issuer that is away is asked again after a moment, not by every request. */
function withCooldown(verify: (token: string) => Promise<Verified>): (token: string) => Promise<Verified> {
  let failure: { readonly cause: unknown; readonly untilMs: number } | undefined;
  return async (token) => {
    if (failure && performance.now() < failure.untilMs) throw failure.cause;
    try {
      return await verify(token);
    } catch (cause) {
      if (keysAreAway(cause)) failure = { cause, untilMs: performance.now() + KEYS_COOLDOWN_MS };
      throw cause;
    }
  };
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && Buffer.from(text).toString() === text;
}

function keysAreAway(cause: unknown): boolean {
  if (cause instanceof errors.JWKSTimeout || cause instanceof errors.JWKSInvalid) return true;
  // jose reports a failed fetch as a plain TypeError and a bad status as a bare JOSEError.
  if (cause instanceof errors.JOSEError) return cause.code === 'ERR_JOSE_GENERIC';
  return types.isNativeError(cause) && cause.message === 'fetch failed';
}

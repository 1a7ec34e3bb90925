import { types } from 'node:util';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import { LRUCache } from 'lru-cache';
import { type Clock } from '../clock/clock.js';
import { SignedTimes } from '../clock/signed-times.js';
import { type Config } from '../config/config.js';
import { AppError, Unauthenticated } from '../errors/app-error.js';
import { isStorable } from '../http/validation.js';
import { type Logger } from '../logging/logger.js';
import { OneAtATime } from '../process/one-at-a-time.js';
import { accountOf, athleteIdOf, canonicalSubject, type Person } from './caller.js';

// The configured key decides the algorithms; the token never decides them. So a token with `none`, or with an HMAC made with a public key,
// is refused.
const SHARED_SECRET_ALGORITHMS = ['HS256'];
const PUBLIC_KEY_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];

const CLOCK_TOLERANCE_SECONDS = 30;
// The name of tokens in the metric and the log lines of `SignedTimes`.
const SIGNER = 'token';
// A claim is any number, also 1e300. A later end than this has no form as a time of the API, and JavaScript has no date for it.
const LATEST_END_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
// A remembered token costs a map look-up (under 1 µs) instead of a signature check (about 40 µs). A token signed with our own secret is
// remembered until it expires. A token signed with an issuer's key is remembered for a minute, because the issuer may withdraw the key.
const REMEMBERED_TOKENS = 10_000;
const REMEMBERED_MS = 60_000;
const KEYS_TIMEOUT_MS = 2_000;
const KEYS_COOLDOWN_MS = 1_000;

/** The issuer's keys could not be fetched. The token may be valid, so the caller should repeat the request. */
export class SigningKeysUnavailable extends AppError {
  override readonly code = 'SIGNING_KEYS_UNAVAILABLE';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 5;
}

/**
 * Verifies bearer tokens by a shared secret or by an issuer's published keys. It does not check whether a token was revoked: a token is
 * accepted until it expires.
 */
export class TokenVerifier {
  private readonly remembered: LRUCache<string, Person>;
  private readonly verifying = new OneAtATime<Person>();
  private readonly verifySignature: (token: string) => Promise<Verified>;
  private readonly times: SignedTimes;

  constructor(
    auth: Config['auth'],
    private readonly clock: Clock,
    logger: Logger,
  ) {
    this.verifySignature = signatureVerifier(auth);
    this.times = new SignedTimes([SIGNER], clock, logger);
    const ttl = 'secret' in auth.keys ? 0 : REMEMBERED_MS;
    this.remembered = new LRUCache({ max: REMEMBERED_TOKENS, ttl });
  }

  /** Returns the caller of a remembered token that has not expired. */
  recall(token: string): Person | undefined {
    const known = this.remembered.get(token);
    return known && known.expiresAtMs > this.clock.nowMs() ? known : undefined;
  }

  verify(token: string): Promise<Person> {
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
      // Only to count it: many issuers write the same time as `nbf` and `iat`, and jose refuses the `nbf` before we see the `iat`.
      if (cause instanceof errors.JWTClaimValidationFailed && cause.claim === 'nbf')
        this.isIssuedByNow(cause.payload);
      throw new Unauthenticated(cause instanceof errors.JWTExpired ? 'Token expired' : 'Invalid token', {
        cause,
      });
    }
  }

  private callerOf(payload: JWTPayload): Person {
    const { sub, iss: issuer = '', exp } = payload;
    if (typeof sub !== 'string' || sub.trim() === '') throw new Unauthenticated('Token has no subject');
    const subject = canonicalSubject(sub);
    if (!isStorable(subject) || !isStorable(issuer))
      throw new Unauthenticated('Token has an invalid subject or issuer');
    // jose accepts a token that was issued in the future. No honest issuer makes such a token.
    if (!this.isIssuedByNow(payload)) throw new Unauthenticated('Token is issued in the future');
    return {
      kind: 'person',
      athleteId: athleteIdOf(issuer, subject),
      subject,
      issuer,
      role: payload.role === 'admin' ? 'admin' : 'athlete',
      expiresAtMs: Math.min((exp ?? 0) * 1_000, LATEST_END_MS),
      account: accountOf(payload, subject),
    };
  }

  /** A token that is issued in the future is counted and logged. An expired token is not, because most of them are only old. */
  private isIssuedByNow({ iat }: JWTPayload): boolean {
    if (iat === undefined) return true;
    const tolerance = { earlierMs: Infinity, laterMs: CLOCK_TOLERANCE_SECONDS * 1_000 };
    return this.times.accepts(SIGNER, iat * 1_000, tolerance);
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

/** Tries each of the issuer's keys for a token without a key id. */
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

/** After a failed fetch of keys, throws the same error for 1 s. Without this pause, every request would fetch the keys again. */
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

function keysAreAway(cause: unknown): boolean {
  if (cause instanceof errors.JWKSTimeout || cause instanceof errors.JWKSInvalid) return true;
  // jose reports a failed fetch as a plain TypeError and a bad status as a bare JOSEError.
  if (cause instanceof errors.JOSEError) return cause.code === 'ERR_JOSE_GENERIC';
  return types.isNativeError(cause) && cause.message === 'fetch failed';
}

// A key set has a few KB.
const MOST_KEY_BYTES = 256 * 1024;

/** Bounds the size of an issuer's key set; jose bounds only the time. */
const fetchKeys: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options);
  if (response.status !== 200 || !response.body) return response;
  return new Response(response.body.pipeThrough(atMost(MOST_KEY_BYTES)));
};

function atMost(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let read = 0;
  return new TransformStream({
    transform(chunk, controller) {
      read += chunk.byteLength;
      if (read > bytes) throw new RangeError(`More than ${bytes} bytes of keys`);
      controller.enqueue(chunk);
    },
  });
}

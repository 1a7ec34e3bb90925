import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  CompactSign,
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import { register } from 'prom-client';
import { SystemClock } from '../clock/clock.js';
import { Unauthenticated } from '../errors/app-error.js';
import { createLogger } from '../logging/logger.js';
import { SigningKeysUnavailable, TokenVerifier } from './token-verifier.js';

const SECRET = 'a-secret-for-tests-of-at-least-32-characters';
const SUBJECT = '0b1d2c3e-4f50-4a61-8b72-93a4b5c6d7e8';
const key = (secret: string) => new TextEncoder().encode(secret);
const silent = createLogger({ level: 'silent', process: 'test' });
const verifier = (auth = {}) =>
  new TokenVerifier(
    { keys: { secret: SECRET }, issuer: 'us', audience: 'api', ...auth },
    new SystemClock(),
    silent,
  );

const nowSeconds = () => Math.floor(Date.now() / 1_000);
const valid = () => ({ sub: SUBJECT, iss: 'us', aud: 'api', iat: nowSeconds(), exp: nowSeconds() + 600 });

function signed(claims: Record<string, unknown>, secret = SECRET, alg = 'HS256'): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg }).sign(key(secret));
}

describe('a token signed with the shared secret', () => {
  it('TokenVerifier returns athlete, role and issuer of a token signed with the shared secret', async () => {
    const caller = await verifier().verify(await signed({ ...valid(), role: 'admin' }));
    expect(caller).toMatchObject({ athleteId: SUBJECT, role: 'admin', issuer: 'us' });
  });

  it('TokenVerifier lower-cases a subject that is a UUID, and keeps the case of any other subject', async () => {
    const subjectOf = async (sub: string) => {
      const { athleteId, subject } = await verifier().verify(await signed({ ...valid(), sub }));
      return { athleteId, subject };
    };
    expect(await subjectOf(SUBJECT.toUpperCase())).toEqual({ athleteId: SUBJECT, subject: SUBJECT });
    expect((await subjectOf('auth0|ANN')).subject).toBe('auth0|ANN');
    expect((await subjectOf('auth0|ANN')).athleteId).not.toBe((await subjectOf('auth0|ann')).athleteId);
  });

  // As text, because a number such as 1e999 is Infinity when it is parsed, and null when it is written.
  const signedText = (payload: string) =>
    new CompactSign(new TextEncoder().encode(payload)).setProtectedHeader({ alg: 'HS256' }).sign(key(SECRET));
  const valuesOf = (claims: Record<string, string>) =>
    Object.entries({ sub: `"${SUBJECT}"`, iss: '"us"', aud: '"api"', exp: '9e9', ...claims })
      .map(([name, value]) => `"${name}":${value}`)
      .join();

  it.each(['8.64e12', '8640000000001', '9007199254740993', '1e300', '1e999'])(
    'TokenVerifier ends a token with the expiry %s in the year 9999, the last that a time of the API can name',
    async (exp) => {
      const { expiresAtMs } = await verifier().verify(await signedText(`{${valuesOf({ exp })}}`));
      expect(new Date(expiresAtMs).toISOString()).toBe('9999-12-31T23:59:59.999Z');
    },
  );

  it.each(['iat', 'nbf'])('TokenVerifier accepts a token whose %s lies before all dates', async (claim) => {
    for (const long of ['-8640000000001', '-1e300', '-1e999'])
      await expect(
        verifier().verify(await signedText(`{${valuesOf({ [claim]: long })}}`)),
      ).resolves.toMatchObject({
        athleteId: SUBJECT,
      });
  });

  it.each(['exp', 'iat', 'nbf'])('TokenVerifier refuses a token whose %s is no number', async (claim) => {
    for (const odd of ['"9e9"', 'null', '[9e9]', '{}', 'true'])
      await expect(
        verifier().verify(await signedText(`{${valuesOf({ [claim]: odd })}}`)),
      ).rejects.toBeInstanceOf(Unauthenticated);
  });

  it('TokenVerifier returns the role admin only for the role claim admin, and otherwise the role athlete', async () => {
    for (const role of [undefined, 'ADMIN', 'root', ['admin'], true]) {
      expect((await verifier().verify(await signed({ ...valid(), role }))).role).toBe('athlete');
    }
  });

  it('TokenVerifier derives a fixed athlete id from issuer and subject if the subject is no UUID', async () => {
    const open = verifier({ issuer: undefined });
    const idFor = async (iss: string) =>
      (await open.verify(await signed({ ...valid(), sub: 'auth0|17', iss }))).athleteId;
    expect(await idFor('us')).toBe('b5322f6a-5cd3-5fb9-800f-d43d959eb584');
    expect(await idFor('them')).not.toBe(await idFor('us'));
  });

  it('TokenVerifier returns the same athlete for a UUID in upper case', async () => {
    expect(
      (await verifier().verify(await signed({ ...valid(), sub: SUBJECT.toUpperCase() }))).athleteId,
    ).toBe(SUBJECT);
  });

  const forged: ReadonlyArray<readonly [string, () => Promise<string> | string]> = [
    ['another secret', () => signed(valid(), 'another-secret-of-at-least-32-characters')],
    ['the algorithm none', () => new UnsecuredJWT(valid()).encode()],
    ['an algorithm we did not choose', () => signed(valid(), SECRET.repeat(2), 'HS512')],
    [
      'a changed payload',
      async () =>
        (await signed(valid())).replace(
          /\.[^.]+\./,
          `.${btoa(JSON.stringify({ ...valid(), role: 'admin' }))}.`,
        ),
    ],
    ['a cut signature', async () => (await signed(valid())).slice(0, -4)],
    ['an expiry in the past', () => signed({ ...valid(), iat: nowSeconds() - 900, exp: nowSeconds() - 300 })],
    ['no expiry', () => signed({ ...valid(), exp: undefined })],
    ['a validity that begins later', () => signed({ ...valid(), nbf: nowSeconds() + 300 })],
    [
      'an issue time in the future',
      () => signed({ ...valid(), iat: nowSeconds() + 300, exp: nowSeconds() + 900 }),
    ],
    ['another issuer', () => signed({ ...valid(), iss: 'them' })],
    ['another audience', () => signed({ ...valid(), aud: 'their-api' })],
    ['no subject', () => signed({ ...valid(), sub: undefined })],
    ['a NUL in the subject', () => signed({ ...valid(), sub: 'a\u0000b' })],
    ['half a surrogate pair in the subject', () => signed({ ...valid(), sub: 'a\ud800' })],
    ['a blank subject', () => signed({ ...valid(), sub: ' ' })],
    ['no structure of a token', () => 'a.b.c'],
    ['an empty text', () => ''],
  ];
  it.each(forged)('TokenVerifier refuses a token with %s', async (_, token) => {
    await expect(verifier().verify(await token())).rejects.toBeInstanceOf(Unauthenticated);
  });

  it('TokenVerifier counts and logs the difference of the clocks if a token is issued in the future, and not for an old or forged token', async () => {
    const lines: Array<Record<string, unknown>> = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) };
    const logger = createLogger({ level: 'warn', process: 'test', destination });
    const counting = new TokenVerifier({ keys: { secret: SECRET } }, new SystemClock(), logger);
    const refusals = async () => {
      const text = await register.getSingleMetricAsString('signed_time_refusals_seconds');
      return Number(/_count\{signer="token",clock="behind"\} (\d+)/.exec(text)?.[1]);
    };
    const before = await refusals();
    const inTenMinutes = { iat: nowSeconds() + 600, exp: nowSeconds() + 1_200 };
    for (const [more, counted, secret] of [
      [inTenMinutes, 1, SECRET],
      // Issuers that write both claims; jose refuses the `nbf` first.
      [{ ...inTenMinutes, nbf: inTenMinutes.iat }, 2, SECRET],
      [{ nbf: inTenMinutes.iat }, 2, SECRET],
      [{ iat: nowSeconds() - 900, exp: nowSeconds() - 300 }, 2, SECRET],
      [inTenMinutes, 2, 'another-secret-of-at-least-32-characters'],
    ] as const) {
      const token = await signed({ ...valid(), ...more }, secret);
      await expect(counting.verify(token)).rejects.toBeInstanceOf(Unauthenticated);
      expect((await refusals()) - before).toBe(counted);
    }
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'warn',
        signer: 'token',
        clock: 'behind',
        seconds: expect.any(Number),
      }),
    ]);
    expect(Math.abs(Number(lines[0]?.seconds) - 600)).toBeLessThan(30);
  });

  it('TokenVerifier does not recall a remembered token that has expired', async () => {
    const clock = { at: Date.now(), nowMs: () => clock.at };
    const remembering = new TokenVerifier({ keys: { secret: SECRET } }, clock, silent);
    const token = await signed(valid());
    await remembering.verify(token);
    expect(remembering.recall(token)).toBeDefined();
    clock.at += 601_000;
    expect(remembering.recall(token)).toBeUndefined();
  });
});

describe('a token signed with a private key', () => {
  let server: Server;
  let keys: { publicKey: CryptoKey; privateKey: CryptoKey };
  let jwksUrl: string;
  let fetches = 0;

  beforeAll(async () => {
    keys = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' };
    server = createServer((_, response) => {
      fetches += 1;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  });

  afterAll(() => void server.close());

  const signedWith = (privateKey: CryptoKey, kid = 'one') =>
    new SignJWT(valid()).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);

  it('TokenVerifier verifies tokens with the published keys, and fetches the keys once', async () => {
    const open = verifier({ keys: { jwksUrl } });
    for (let time = 0; time < 3; time += 1)
      expect((await open.verify(await signedWith(keys.privateKey))).athleteId).toBe(SUBJECT);
    expect(fetches).toBe(1);
  });

  it('TokenVerifier refuses a token with an unknown key id, and a token signed with another key under a known id', async () => {
    const stranger = await generateKeyPair('ES256');
    const open = verifier({ keys: { jwksUrl } });
    await expect(open.verify(await signedWith(stranger.privateKey, 'two'))).rejects.toBeInstanceOf(
      Unauthenticated,
    );
    await expect(open.verify(await signedWith(stranger.privateKey))).rejects.toBeInstanceOf(Unauthenticated);
  });

  it('TokenVerifier refuses a token signed with the public key as an HMAC secret', async () => {
    const forged = await signed(valid(), await exportSPKI(keys.publicKey));
    await expect(verifier({ keys: { jwksUrl } }).verify(forged)).rejects.toBeInstanceOf(Unauthenticated);
  });

  it('TokenVerifier tries every published key for a token without a key id', async () => {
    const nameless = await new SignJWT(valid()).setProtectedHeader({ alg: 'ES256' }).sign(keys.privateKey);
    const other = await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey);
    const two = await publish({
      keys: [
        { ...other, alg: 'ES256' },
        { ...(await exportJWK(keys.publicKey)), alg: 'ES256' },
      ],
    });
    expect((await verifier({ keys: { jwksUrl: two.url } }).verify(nameless)).athleteId).toBe(SUBJECT);
    two.server.close();
  });

  it('TokenVerifier throws SigningKeysUnavailable for malformed keys, and fetches them once for several requests', async () => {
    const broken = await publish({ foo: 1 });
    const open = verifier({ keys: { jwksUrl: broken.url } });
    const token = await signedWith(keys.privateKey);
    await Promise.all(
      [1, 2, 3].map(() => expect(open.verify(token)).rejects.toBeInstanceOf(SigningKeysUnavailable)),
    );
    await expect(open.verify(token)).rejects.toBeInstanceOf(SigningKeysUnavailable);
    expect(broken.fetches()).toBeLessThanOrEqual(1);
    broken.server.close();
  });

  it.each<[string, (response: ServerResponse, keySet: string) => void]>([
    ['a key set of 300 KB', (response, keySet) => void response.end(keySet + ' '.repeat(300_000))],
    ['a key set that never ends', (response, keySet) => void response.write(keySet)],
  ])('TokenVerifier throws SigningKeysUnavailable while the issuer sends %s', async (_, answer) => {
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' };
    const issuer = await serve((response) => answer(response, JSON.stringify({ keys: [jwk] })));
    const open = verifier({ keys: { jwksUrl: issuer.url } });
    await expect(open.verify(await signedWith(keys.privateKey))).rejects.toBeInstanceOf(
      SigningKeysUnavailable,
    );
    issuer.server.closeAllConnections();
    issuer.server.close();
  });

  it('TokenVerifier throws SigningKeysUnavailable while the issuer refuses connections', async () => {
    const open = verifier({ keys: { jwksUrl: 'http://127.0.0.1:9/jwks' } });
    await expect(open.verify(await signedWith(keys.privateKey))).rejects.toBeInstanceOf(
      SigningKeysUnavailable,
    );
  });
});

/** Serves an issuer's key set on a new server. */
async function publish(set: object): Promise<{ url: string; server: Server; fetches(): number }> {
  let fetches = 0;
  const published = await serve((response) => {
    fetches += 1;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(set));
  });
  return { ...published, fetches: () => fetches };
}

async function serve(answer: (response: ServerResponse) => void): Promise<{ url: string; server: Server }> {
  const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`, server };
}

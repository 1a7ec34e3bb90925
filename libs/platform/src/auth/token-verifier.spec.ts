import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey } from 'jose';
import { SystemClock } from '../clock/clock.js';
import { Unauthenticated } from '../errors/app-error.js';
import { SigningKeysUnavailable, TokenVerifier } from './token-verifier.js';

const SECRET = 'a-secret-for-tests-of-at-least-32-characters';
const SUBJECT = '0b1d2c3e-4f50-4a61-8b72-93a4b5c6d7e8';
const key = (secret: string) => new TextEncoder().encode(secret);
const verifier = (auth = {}) =>
  new TokenVerifier({ keys: { secret: SECRET }, issuer: 'us', audience: 'api', ...auth }, new SystemClock());

const nowSeconds = () => Math.floor(Date.now() / 1_000);
const valid = () => ({ sub: SUBJECT, iss: 'us', aud: 'api', iat: nowSeconds(), exp: nowSeconds() + 600 });

function signed(claims: Record<string, unknown>, secret = SECRET, alg = 'HS256'): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg }).sign(key(secret));
}

describe('a token signed with the shared secret', () => {
  it('names its caller', async () => {
    const caller = await verifier().verify(await signed({ ...valid(), role: 'admin' }));
    expect(caller).toMatchObject({ athleteId: SUBJECT, role: 'admin', issuer: 'us' });
  });

  it('speaks for an athlete unless the role says admin', async () => {
    for (const role of [undefined, 'ADMIN', 'root', ['admin'], true]) {
      expect((await verifier().verify(await signed({ ...valid(), role }))).role).toBe('athlete');
    }
  });

  it('gives a foreign subject the same athlete every time, and another per issuer', async () => {
    const open = verifier({ issuer: undefined });
    const idFor = async (iss: string) =>
      (await open.verify(await signed({ ...valid(), sub: 'auth0|17', iss }))).athleteId;
    expect(await idFor('us')).toBe('b5322f6a-5cd3-5fb9-800f-d43d959eb584');
    expect(await idFor('them')).not.toBe(await idFor('us'));
  });

  it('takes an upper-case UUID for the same athlete', async () => {
    expect(
      (await verifier().verify(await signed({ ...valid(), sub: SUBJECT.toUpperCase() }))).athleteId,
    ).toBe(SUBJECT);
  });

  const forged: ReadonlyArray<readonly [string, () => Promise<string> | string]> = [
    ['another secret', () => signed(valid(), 'another-secret-of-at-least-32-characters')],
    ['alg none', () => new UnsecuredJWT(valid()).encode()],
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
    ['an expired token', () => signed({ ...valid(), iat: nowSeconds() - 900, exp: nowSeconds() - 300 })],
    ['no expiry', () => signed({ ...valid(), exp: undefined })],
    ['not yet valid', () => signed({ ...valid(), nbf: nowSeconds() + 300 })],
    ['issued in the future', () => signed({ ...valid(), iat: nowSeconds() + 300, exp: nowSeconds() + 900 })],
    ['another issuer', () => signed({ ...valid(), iss: 'them' })],
    ['another audience', () => signed({ ...valid(), aud: 'their-api' })],
    ['no subject', () => signed({ ...valid(), sub: undefined })],
    ['a subject that no database can hold', () => signed({ ...valid(), sub: 'a\u0000b' })],
    ['half a character for a subject', () => signed({ ...valid(), sub: 'a\ud800' })],
    ['a blank subject', () => signed({ ...valid(), sub: ' ' })],
    ['garbage', () => 'a.b.c'],
    ['nothing', () => ''],
  ];
  it.each(forged)('is refused: %s', async (_, token) => {
    await expect(verifier().verify(await token())).rejects.toBeInstanceOf(Unauthenticated);
  });

  it('stops working when it expires, though it was seen before', async () => {
    const clock = { at: Date.now(), nowMs: () => clock.at };
    const remembering = new TokenVerifier({ keys: { secret: SECRET } }, clock);
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

  it('is checked against the published keys, which are fetched once', async () => {
    const open = verifier({ keys: { jwksUrl } });
    for (let time = 0; time < 3; time += 1)
      expect((await open.verify(await signedWith(keys.privateKey))).athleteId).toBe(SUBJECT);
    expect(fetches).toBe(1);
  });

  it('is refused when the key is unknown, or foreign under a known name', async () => {
    const stranger = await generateKeyPair('ES256');
    const open = verifier({ keys: { jwksUrl } });
    await expect(open.verify(await signedWith(stranger.privateKey, 'two'))).rejects.toBeInstanceOf(
      Unauthenticated,
    );
    await expect(open.verify(await signedWith(stranger.privateKey))).rejects.toBeInstanceOf(Unauthenticated);
  });

  it('cannot be forged with the public key as an HMAC secret', async () => {
    const forged = await signed(valid(), await exportSPKI(keys.publicKey));
    await expect(verifier({ keys: { jwksUrl } }).verify(forged)).rejects.toBeInstanceOf(Unauthenticated);
  });

  it('is checked against every key that could be meant where it names none', async () => {
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

  it('is not called forged while the issuer publishes nonsense, which is asked for once and not per request', async () => {
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
    ['more than keys', (response, keySet) => void response.end(keySet + ' '.repeat(300_000))],
    ['keys that never end', (response, keySet) => void response.write(keySet)],
  ])('is neither accepted nor called forged while the issuer sends %s', async (_, answer) => {
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' };
    const issuer = await serve((response) => answer(response, JSON.stringify({ keys: [jwk] })));
    const open = verifier({ keys: { jwksUrl: issuer.url } });
    await expect(open.verify(await signedWith(keys.privateKey))).rejects.toBeInstanceOf(
      SigningKeysUnavailable,
    );
    issuer.server.closeAllConnections();
    issuer.server.close();
  });

  it('is neither accepted nor called forged while the keys cannot be fetched', async () => {
    const open = verifier({ keys: { jwksUrl: 'http://127.0.0.1:9/jwks' } });
    await expect(open.verify(await signedWith(keys.privateKey))).rejects.toBeInstanceOf(
      SigningKeysUnavailable,
    );
  });
});

/** An issuer's key set on a server of its own. */
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

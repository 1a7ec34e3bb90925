import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JetStreamApiError } from '@nats-io/jetstream';
import { nkeys } from '@nats-io/transport-node';
import { freePort } from '../../../../test/harness/free-port.js';
import { NatsServer } from '../../../../test/harness/nats-server.js';
import { DependencyUnavailable } from '../errors/app-error.js';
import { connectNats, natsFailure, type NatsServers, serverOptions } from './connect.js';

const hostOf = ({ url }: NatsServer) => url.replace('nats://', '');

async function connects(servers: NatsServers | string): Promise<string> {
  const connection = await connectNats(servers, 'test');
  const server = connection.getServer();
  await connection.close();
  return server;
}

describe('a connection to NATS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nats-login-'));
  let withUser: NatsServer;
  let withToken: NatsServer;
  let withCreds: NatsServer;
  let withNkey: NatsServer;
  const creds = join(folder, 'user.creds');
  const seed = join(folder, 'user.nk');
  beforeAll(async () => {
    const { configuration, file } = decentralLogin();
    writeFileSync(creds, file);
    const user = nkeys.createUser();
    writeFileSync(seed, `${new TextDecoder().decode(user.getSeed())}\n`);
    [withUser, withToken, withCreds, withNkey] = await Promise.all([
      NatsServer.start('authorization { user: "pace@keeper", password: "p/w:1" }'),
      NatsServer.start('authorization { token: "a-token" }'),
      NatsServer.start(configuration),
      NatsServer.start(`authorization { users: [ { nkey: "${user.getPublicKey()}" } ] }`),
    ]);
  });
  afterAll(async () => {
    await Promise.all([withUser, withToken, withCreds, withNkey].map((server) => server.stop()));
    rmSync(folder, { recursive: true });
  });

  it('connectNats logs in with the percent-encoded user and password of its URL', async () => {
    expect(await connects(`nats://pace%40keeper:p%2Fw%3A1@${hostOf(withUser)}`)).toBe(hostOf(withUser));
    await expect(connects(`nats://pace%40keeper:wrong@${hostOf(withUser)}`)).rejects.toThrow(
      /authorization violation/i,
    );
    await expect(connects(withUser.url)).rejects.toThrow(/authorization violation/i);
  });

  it('connectNats logs in with the token of its URL', async () => {
    expect(await connects(`nats://a-token@${hostOf(withToken)}`)).toBe(hostOf(withToken));
  });

  it('connectNats logs in with a credentials file', async () => {
    const servers = { urls: [withCreds.url], credsFile: creds };
    expect(await connects(servers)).toBe(hostOf(withCreds));
    await expect(connects(withCreds.url)).rejects.toThrow(/authorization violation/i);
  });

  it('connectNats logs in with a file that has only the seed of an nkey', async () => {
    expect(await connects({ urls: [withNkey.url], credsFile: seed })).toBe(hostOf(withNkey));
    await expect(connects(withNkey.url)).rejects.toThrow(/authorization violation/i);
  });

  it('connectNats uses the next URL of a list if a server is absent, and finds the login in any URL of the list', async () => {
    const absent = `127.0.0.1:${await freePort()}`;
    const login = 'pace%40keeper:p%2Fw%3A1@';
    expect(await connects({ urls: [`nats://${login}${absent}`, withUser.url] })).toBe(hostOf(withUser));
    expect(await connects({ urls: [`nats://${absent}`, `nats://${login}${hostOf(withUser)}`] })).toBe(
      hostOf(withUser),
    );
  });

  it.each([
    ['that offers no TLS', {}],
    ['that claims to offer TLS and speaks clear text', { tls_available: true }],
  ])('connectNats over tls:// sends no login to a server %s', async (_, offer) => {
    const received: Buffer[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.on('data', (bytes) => received.push(bytes));
      const info = {
        server_id: 'plain',
        version: '2.11.0',
        proto: 1,
        headers: true,
        max_payload: 1e6,
        ...offer,
      };
      socket.write(`INFO ${JSON.stringify(info)}\r\n`);
      // Answers the TLS hello, so that the client does not wait for its timeout.
      socket.once('data', () => socket.write('-ERR what\r\n'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const urls of [[`tls://user:secret-pw@${at}`], ['nats://127.0.0.1:9', `tls://user:secret-pw@${at}`]])
      await expect(connects({ urls })).rejects.toThrow();
    expect(Buffer.concat(received).toString('latin1')).not.toMatch(/CONNECT|secret-pw/);
    server.close();
  });

  it.each([
    [503, 10_008, 'JetStream system temporarily unavailable', true],
    [500, 10_118, 'stream is offline', true],
    [500, 10_057, 'message delete failed', false],
    [404, 10_059, 'stream not found', false],
  ])(
    'natsFailure takes status %i with code %i (%s) for an outage: %s',
    (code, err_code, description, isAway) => {
      const error = new JetStreamApiError({ code, err_code, description });
      expect(natsFailure(error) instanceof DependencyUnavailable).toBe(isAway);
    },
  );

  it('serverOptions requires TLS of all servers if one URL is tls://', () => {
    expect(serverOptions({ urls: ['nats://a:4222', 'tls://b:4222'] })).toMatchObject({
      servers: ['a:4222', 'b:4222'],
      tls: {},
    });
    expect(serverOptions({ urls: ['nats://a:4222'] })).not.toHaveProperty('tls');
  });
});

/**
 * Makes an operator, an account and a user, as `nsc` does. Returns the configuration of the server and the credentials file of the user.
 */
function decentralLogin(): { configuration: string; file: string } {
  const [operator, user] = [nkeys.createOperator(), nkeys.createUser()];
  const [account, system] = [nkeys.createAccount(), nkeys.createAccount()];
  const signed = (issuer: nkeys.KeyPair, subject: nkeys.KeyPair, type: string, claims: object = {}) => {
    const content = {
      iat: Math.floor(Date.now() / 1_000),
      iss: issuer.getPublicKey(),
      sub: subject.getPublicKey(),
      name: type,
      nats: { type, version: 2, ...claims },
    };
    const jti = createHash('sha256').update(JSON.stringify(content)).digest('hex');
    const parts = [
      { typ: 'JWT', alg: 'ed25519-nkey' },
      { ...content, jti },
    ];
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    return `${text}.${Buffer.from(issuer.sign(new TextEncoder().encode(text))).toString('base64url')}`;
  };
  const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, conn: -1, leaf: -1 };
  const accountJwt = signed(operator, account, 'account', { limits });
  const userJwt = signed(account, user, 'user', { subs: -1, data: -1, payload: -1 });
  const seed = new TextDecoder().decode(user.getSeed());
  const framed = (title: string, text: string) =>
    `-----BEGIN ${title}-----\n${text}\n------END ${title}------\n\n`;
  return {
    configuration: [
      `operator: ${signed(operator, operator, 'operator')}`,
      'resolver: MEMORY',
      `system_account: ${system.getPublicKey()}`,
      'resolver_preload: {',
      `  ${account.getPublicKey()}: ${accountJwt}`,
      `  ${system.getPublicKey()}: ${signed(operator, system, 'account', { limits })}`,
      '}',
    ].join('\n'),
    file: framed('NATS USER JWT', userJwt) + framed('USER NKEY SEED', seed),
  };
}

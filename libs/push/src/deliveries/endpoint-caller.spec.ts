import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:https';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeCertificates } from '../../../../test/harness/certificates.js';
import { DnsServer } from '../../../../test/harness/dns-server.js';
import { freePort } from '../../../../test/harness/free-port.js';
import { EndpointCaller } from './endpoint-caller.js';
import { answers, Receiver } from '../../../../test/harness/webhook-receiver.js';

// Generous for a busy machine; the tests of time-outs use a shorter one.
const ATTEMPT_MS = 60_000;

describe('an attempt', () => {
  let receiver: Receiver;
  let callers: EndpointCaller[];
  beforeEach(async () => {
    callers = [];
    receiver = await Receiver.start();
  });
  afterEach(async () => {
    await receiver.stop();
    await Promise.all(callers.map((caller) => caller.close()));
  });

  interface Options {
    readonly attemptMs?: number;
    readonly allowPrivate?: boolean;
    readonly dnsServers?: readonly string[];
  }
  const post = (
    url = receiver.url,
    { attemptMs = ATTEMPT_MS, allowPrivate = true, dnsServers }: Options = {},
  ) => {
    const caller = new EndpointCaller({ attemptMs, allowPrivate, dnsServers });
    callers.push(caller);
    return caller.post({
      url,
      headers: { 'webhook-id': 'c1' },
      body: '{"id":"c1"}',
      signal: new AbortController().signal,
    });
  };

  it.each([200, 201, 202, 204, 299])('an attempt succeeds with %i', async (status) => {
    receiver.answer = answers(status);
    expect(await post()).toMatchObject({ isDelivered: true, isGone: false, status, error: null });
    expect(receiver.received).toMatchObject([
      { id: 'c1', body: '{"id":"c1"}', headers: { 'content-type': 'application/json' } },
    ]);
  });

  it.each([301, 302, 303, 307, 308])(
    'an attempt fails with %i, and does not follow the redirect',
    async (status) => {
      const other = await Receiver.start();
      receiver.answer = (_, response) => void response.writeHead(status, { location: other.url }).end();
      expect(await post()).toMatchObject({
        isDelivered: false,
        status,
        error: `The endpoint answered ${status}; redirects are not followed.`,
      });
      expect(other.received).toEqual([]);
      await other.stop();
    },
  );

  it.each([400, 401, 404, 429, 500, 503])(
    'an attempt fails with %i, and keeps the answer',
    async (status) => {
      receiver.answer = answers(status, 'no, thanks');
      expect(await post()).toEqual({
        isDelivered: false,
        isGone: false,
        status,
        response: 'no, thanks',
        error: `The endpoint answered ${status}.`,
      });
    },
  );

  it('an attempt reports 410 as gone', async () => {
    receiver.answer = answers(410);
    expect(await post()).toMatchObject({ isDelivered: false, isGone: true, status: 410 });
  });

  it('an attempt keeps the first 1 kB of the answer, without half a character and without NUL', async () => {
    receiver.answer = answers(200, `\0${'ü'.repeat(2_000)}`);
    const { response } = await post();
    expect(response).toBe(`\uFFFD${'ü'.repeat(511)}`);
  });

  it('an attempt fails if the answer comes after the limit', async () => {
    receiver.answer = () => undefined;
    expect(await post(receiver.url, { attemptMs: 100 })).toMatchObject({
      isDelivered: false,
      status: null,
      response: null,
      error: 'No whole answer within 0.1 s.',
    });
  });

  it('an attempt fails if a 200 has a body that does not end within the limit', async () => {
    receiver.answer = (_, response) => void response.writeHead(200).write('begun');
    // A busy machine needs some of this time for the connection.
    expect(await post(receiver.url, { attemptMs: 1_500 })).toMatchObject({
      isDelivered: false,
      status: 200,
      response: 'begun',
      error: 'No whole answer within 1.5 s.',
    });
  });

  it('an attempt fails if a 200 has an endless body, and cuts it off', async () => {
    let isCut: () => void = () => undefined;
    const cut = new Promise<void>((resolve) => (isCut = resolve));
    receiver.answer = (_, response) => {
      response.on('close', isCut);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384, 'x')));
        if (!response.destroyed) response.once('drain', more);
      };
      response.writeHead(200);
      more();
    };
    expect(await post()).toMatchObject({
      isDelivered: false,
      status: 200,
      response: 'x'.repeat(1_024),
      error: 'The answer has more than 64 kB.',
    });
    await cut;
  });

  it('an attempt fails if the connection breaks in the middle of a 200', async () => {
    receiver.answer = (_, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('half');
      response.socket?.destroySoon();
    };
    expect(await post()).toMatchObject({ isDelivered: false, error: 'The connection broke.' });
  });

  it('an attempt keeps nothing of a compressed answer that is incomplete', async () => {
    receiver.answer = (_, response) => {
      response.writeHead(500, { 'content-encoding': 'gzip', 'content-length': '100' }).write('\u001f');
      response.socket?.destroySoon();
    };
    expect(await post()).toMatchObject({ status: 500, response: null, error: 'The connection broke.' });
  });

  it('an attempt fails if the connection is refused, and if the host name does not exist', async () => {
    const { url } = receiver;
    await receiver.stop();
    expect(await post(url)).toMatchObject({ isDelivered: false, error: 'The connection was refused.' });
    const { error } = await post('https://no-such-host.invalid/');
    expect(error).toMatch(/^The host name/);
    receiver = await Receiver.start();
  });

  describe('over TLS', () => {
    let server: Server | undefined;
    afterEach(() => void server?.close());

    const listening = async (one: Server) => {
      server = one;
      await once(one.listen(0, '127.0.0.1'), 'listening');
      return `https://127.0.0.1:${(one.address() as AddressInfo).port}/`;
    };

    it('an attempt fails if the certificate is not trusted', async () => {
      const { certificate, key: keyFile } = makeCertificates();
      const [cert, key] = [readFileSync(certificate), readFileSync(keyFile)];
      const url = await listening(createTlsServer({ cert, key }, (_, response) => void response.end()));
      const { isDelivered, error } = await post(url);
      expect(isDelivered).toBe(false);
      expect(error).toMatch(/^The TLS connection failed \(\w+\)\.$/);
    });

    it('an attempt fails if the server speaks no TLS', async () => {
      const url = await listening(
        createTcpServer((socket) => void socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\n\r\n')),
      );
      const { isDelivered, error } = await post(url);
      expect(isDelivered).toBe(false);
      expect(error).toMatch(/TLS|The connection broke/);
    });
  });

  describe('where private addresses are not allowed', () => {
    // An endpoint may have been stored while WEBHOOKS_ALLOW_PRIVATE allowed its URL.
    it.each([
      ['http://app.example/', 'The URL must begin with https://.'],
      ['https://app.example:25/', 'The URL must use port 443, or a port from 1024 on.'],
      ['https://intranet/', 'The URL must lead to a public address.'],
    ])('an attempt never connects to %s', async (url, error) => {
      expect(await post(url, { allowPrivate: false })).toEqual({
        isDelivered: false,
        isGone: false,
        status: null,
        response: null,
        error,
      });
    });

    it.each(
      [
        [
          '127.0.0.1',
          '[::1]',
          '127.1',
          '2130706433',
          '0x7f000001',
          '017700000001',
          '0.0.0.0',
          '[::ffff:127.0.0.1]',
        ],
      ].flat(),
    )('an attempt never connects to %s', async (host) => {
      const url = new URL(receiver.url);
      expect(await post(`https://${host}:${url.port}/`, { allowPrivate: false })).toMatchObject({
        isDelivered: false,
        status: null,
        error: 'The URL must lead to a public address.',
      });
      expect(receiver.received).toEqual([]);
    });

    it.each(['10.0.0.1', '169.254.169.254', '192.168.0.1', '[::ffff:10.0.0.1]', '[fd00::1]'])(
      'an attempt never connects to %s',
      async (host) => {
        expect(await post(`https://${host}/`, { allowPrivate: false })).toMatchObject({
          error: 'The URL must lead to a public address.',
        });
      },
    );

    it('an attempt never connects to localhost by its name', async () => {
      const { port } = new URL(receiver.url);
      expect(await post(`https://localhost:${port}/`, { allowPrivate: false })).toMatchObject({
        isDelivered: false,
        error: 'The URL must lead to a public address.',
      });
      expect(receiver.received).toEqual([]);
    });

    describe('by a name', () => {
      let dns: DnsServer;
      beforeEach(async () => {
        dns = await DnsServer.start({
          'private.example': ['127.0.0.1'],
          'mixed.example': ['8.8.8.8', '127.0.0.1'],
          'both.example': ['8.8.8.8', '::ffff:7f00:1'],
          'nat64.example': ['64:ff9b::7f00:1'],
          'own.example': ['fd00::1'],
          'empty.example': [],
        });
      });
      afterEach(() => dns.stop());

      const postTo = (name: string, attemptMs?: number) => {
        const { port } = new URL(receiver.url);
        const dnsServers = [dns.address];
        return post(`https://${name}:${port}/`, { allowPrivate: false, attemptMs, dnsServers });
      };

      // A name that had public addresses when the endpoint was created may have private ones now.
      it.each(['private.example', 'mixed.example', 'both.example', 'nat64.example', 'own.example'])(
        'an attempt asks for the addresses of %s each time, and never connects if one of them is not public',
        async (name) => {
          for (const times of [1, 2]) {
            expect(await postTo(name)).toMatchObject({
              isDelivered: false,
              status: null,
              error: 'The address of the host is not public.',
            });
            expect(dns.questions.filter((one) => one === name)).toHaveLength(2 * times);
          }
          expect(receiver.received).toEqual([]);
        },
      );

      it.each(['empty.example', 'unknown.example'])('an attempt fails if %s has no address', async (name) => {
        expect(await postTo(name)).toMatchObject({ error: 'The host name was not found.' });
      });

      it('an attempt fails if no DNS server can be reached', async () => {
        const dnsServers = [`127.0.0.1:${await freePort()}`];
        expect(await post('https://app.example/', { allowPrivate: false, dnsServers })).toMatchObject({
          error: 'The host name could not be looked up.',
        });
      });

      // `dns.lookup` has four threads, which all lookups, files and compression of the process share.
      it('names whose servers never answer delay no other lookup of the process', async () => {
        const attempts = Array.from({ length: 32 }, (_, n) => postTo(`${n}.silent.example`, 1_500));
        let areOver = false;
        const all = Promise.all(attempts).finally(() => (areOver = true));
        await lookup('localhost');
        expect(areOver).toBe(false);
        for (const attempt of await all)
          expect(attempt).toMatchObject({ isDelivered: false, error: 'No whole answer within 1.5 s.' });
      });
    });
  });
});

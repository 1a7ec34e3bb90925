import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLogger } from '#platform';
import { eventually } from '../../../test/harness/eventually.js';
import { type Exchange, type ExchangeOutcome, type AnswerHead, type OutboundRequest } from './exchange.js';
import { type CallPermit, type Meter, type NoPermit } from './meter.js';
import { type Bounds, OutboundCaller } from './outbound-caller.js';
import { AnswerTooLarge, CallAborted, CallTimedOut, ConnectionFailed } from './outbound.errors.js';

const logger = createLogger({ level: 'silent', process: 'test' });
// Long bounds for tests that are not about time, so that a busy machine does not fail these tests.
const GENEROUS: Bounds = { attemptMs: 10_000, totalMs: 20_000 };
const ALMOST_NO_PAUSE = () => -0.33;
const TIGHT: Bounds = { attemptMs: 500, totalMs: 5_000 };
const NOT_NOW = { kind: 'notNow' as const, window: 'read 15min' };
const BOMB = brotliCompressSync(Buffer.alloc(16_000_000));
const SECRET = 'hunter2-hunter2';

/** Records how each permit ends. Uses up `verdicts` one by one, then grants every request. */
class RecordingMeter implements Meter<NoPermit> {
  readonly outcomes: Array<string | undefined> = [];
  requests = 0;
  constructor(
    private readonly verdicts: Array<'granted' | 'notNow' | 'stale'> = [],
    private readonly onEnd: (outcome: string) => void = () => undefined,
  ) {}

  async permit(signal?: AbortSignal): Promise<CallPermit | NoPermit> {
    this.requests += 1;
    await Promise.resolve();
    signal?.throwIfAborted();
    const verdict = this.verdicts.shift() ?? 'granted';
    if (verdict === 'notNow') return NOT_NOW;
    const index = this.outcomes.push(undefined) - 1;
    const end = (outcome: string) => {
      expect(this.outcomes[index]).toBeUndefined();
      this.outcomes[index] = outcome;
      this.onEnd(outcome);
      return Promise.resolve();
    };
    return {
      kind: 'granted',
      isFresh: () => verdict !== 'stale',
      settle: (answer: AnswerHead | undefined) => end(answer ? `settled ${answer.status}` : 'settled'),
      giveBack: () => end('given back'),
    };
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

describe('OutboundCaller with a real server', () => {
  let server: Server;
  let caller: OutboundCaller;
  let url: string;
  let seen: string[];
  let handlers: Handler[];

  beforeEach(async () => {
    seen = [];
    handlers = [];
    server = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      const handler = handlers.length > 1 ? handlers.shift() : handlers[0];
      (handler ?? ((_, res) => res.end('fine')))(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    caller = newCaller();
  });
  afterEach(async () => {
    await caller.close();
    await eventually('no socket left', async () => (await connections()) === 0);
    await new Promise((resolve) => server.close(resolve));
  });

  function newCaller(options: { connections?: number; bounds?: Bounds; random?: () => number } = {}) {
    return new OutboundCaller(options.bounds ?? GENEROUS, {
      name: 'test',
      hosts: [url],
      logger,
      random: options.random ?? ALMOST_NO_PAUSE,
      connections: options.connections,
    });
  }

  const connections = () =>
    new Promise<number>((resolve, reject) =>
      server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );

  const get = (changes: Partial<OutboundRequest> = {}): OutboundRequest => ({
    method: 'GET',
    url: `${url}/thing?token=${SECRET}`,
    headers: { authorization: `Bearer ${SECRET}` },
    ...changes,
  });

  async function failure(work: Promise<unknown>): Promise<Error> {
    try {
      await work;
    } catch (error) {
      const text = [error, (error as Error).cause].map((one) => `${String(one)}`).join();
      expect(text).not.toContain(SECRET);
      return error as Error;
    }
    throw new Error('it did not fail');
  }

  it('a call returns the whole answer and settles its permit with that answer', async () => {
    handlers = [(_, response) => response.writeHead(201, { 'X-Limit': ['1', '2'] }).end('body')];
    const meter = new RecordingMeter();
    const { answer } = (await caller.call(get(), meter)) as { answer: AnswerHead & { body: Buffer } };
    expect(answer).toMatchObject({ status: 201, headers: { 'x-limit': '1, 2' } });
    expect(answer.body.toString()).toBe('body');
    expect(meter.outcomes).toEqual(['settled 201']);
  });

  it('a call sends method, headers and body', async () => {
    let got = '';
    handlers = [
      (request, response) => {
        got = `${request.headers['content-type']} `;
        request.on('data', (bytes: Buffer) => (got += bytes.toString())).on('end', () => response.end());
      },
    ];
    const headers = { 'content-type': 'text/x' };
    await caller.call({ method: 'PUT', url: `${url}/x`, headers, body: 'naïve' });
    expect([seen, got]).toEqual([['PUT /x'], 'text/x naïve']);
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['identity', (text: string) => Buffer.from(text)],
  ])('a call decodes a body with content-encoding %s', async (encoding, encode) => {
    handlers = [
      (_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(encode('hello')),
    ];
    expect(await caller.call(get())).toMatchObject({ answer: { body: Buffer.from('hello') } });
  });

  it('a call does not follow a redirect', async () => {
    handlers = [(_, response) => response.writeHead(302, { location: `${url}/elsewhere` }).end()];
    expect(await caller.call(get())).toMatchObject({ answer: { status: 302 } });
    expect(seen).toHaveLength(1);
  });

  it.each(['http://127.0.0.1:1/x', 'https://www.strava.com/x', 'http://user@evil.example/x'])(
    'a call to a host that is not configured is rejected without a permit: %s',
    async (elsewhere) => {
      const meter = new RecordingMeter();
      await expect(caller.call(get({ url: elsewhere }), meter)).rejects.toThrow('is not a host of test');
      expect(meter.requests).toBe(0);
    },
  );

  it.each([408, 500, 502, 503, 597])(
    'a call is sent a second time after %i, with a second permit',
    async (status) => {
      handlers = [(_, response) => response.writeHead(status).end(), (_, response) => response.end('ok')];
      const meter = new RecordingMeter();
      expect(await caller.call(get(), meter)).toMatchObject({ answer: { status: 200 } });
      expect(meter.outcomes).toEqual([`settled ${status}`, 'settled 200']);
    },
  );

  it('a call is sent twice at most', async () => {
    handlers = [(_, response) => response.writeHead(503).end()];
    const meter = new RecordingMeter();
    expect(await caller.call(get(), meter)).toMatchObject({ answer: { status: 503 } });
    expect([seen.length, meter.outcomes]).toEqual([2, ['settled 503', 'settled 503']]);
  });

  it.each([200, 204, 304, 400, 401, 403, 404, 422])(
    'a call answered %i is not sent again',
    async (status) => {
      handlers = [(_, response) => response.writeHead(status).end()];
      await caller.call(get());
      expect(seen).toHaveLength(1);
    },
  );

  it('a call that is not repeatable is not sent again after a 503', async () => {
    handlers = [(_, response) => response.writeHead(503).end()];
    await caller.call(get({ method: 'POST', repeatable: false }));
    expect(seen).toHaveLength(1);
  });

  it('a call answered 429 is sent again only without a meter', async () => {
    handlers = [(_, response) => response.writeHead(429).end()];
    await caller.call(get(), new RecordingMeter());
    expect(seen).toHaveLength(1);
    await caller.call(get());
    expect(seen).toHaveLength(3);
  });

  it('a call returns the first answer if the Retry-After of that answer exceeds the total deadline', async () => {
    handlers = [(_, response) => response.writeHead(503, { 'retry-after': '3600' }).end()];
    const startedAt = performance.now();
    expect(await caller.call(get())).toMatchObject({ answer: { status: 503 } });
    expect([seen.length, performance.now() - startedAt < GENEROUS.attemptMs]).toEqual([1, true]);
  });

  it('a call ends with its first outcome if the meter gives no second permit', async () => {
    handlers = [(_, response) => response.writeHead(503).end('busy')];
    const meter = new RecordingMeter(['granted', 'notNow']);
    expect(await caller.call(get(), meter)).toMatchObject({ answer: { status: 503 } });
    handlers = [(_, response) => response.destroy()];
    const again = new RecordingMeter(['granted', 'notNow']);
    expect(await failure(caller.call(get(), again))).toBeInstanceOf(ConnectionFailed);
    expect([meter.outcomes, again.outcomes]).toEqual([['settled 503'], ['settled']]);
  });

  it('a call returns the meter’s notNow and sends nothing', async () => {
    expect(await caller.call(get(), new RecordingMeter(['notNow']))).toBe(NOT_NOW);
    expect(seen).toEqual([]);
  });

  it('a call gives a stale permit back before anything is written, and requests another', async () => {
    const meter = new RecordingMeter(['stale', 'stale', 'granted']);
    expect(await caller.call(get(), meter)).toMatchObject({ answer: { status: 200 } });
    expect([seen.length, meter.outcomes]).toEqual([1, ['given back', 'given back', 'settled 200']]);
    expect(await connections()).toBe(1);
  });

  it('a call returns notNow if the meter gives no permit in place of a stale one', async () => {
    const meter = new RecordingMeter(['stale', 'notNow']);
    expect(await caller.call(get(), meter)).toBe(NOT_NOW);
    expect([seen.length, meter.outcomes]).toEqual([0, ['given back']]);
  });

  it.each(['notNow', 'unavailable', 'unclaimed'] as const)(
    'a call returns %s if the meter gives that outcome in place of a stale permit',
    async (kind) => {
      const recording = new RecordingMeter(['stale']);
      const no = { kind };
      const meter: Meter<NoPermit> = {
        permit: (signal) => (recording.requests === 0 ? recording.permit(signal) : Promise.resolve(no)),
      };
      expect(await caller.call(get(), meter)).toBe(no);
      expect([seen.length, recording.outcomes]).toEqual([0, ['given back']]);
    },
  );

  it('a call whose permits are all stale times out after a few permits, which are given back', async () => {
    await caller.close();
    caller = newCaller({ bounds: { attemptMs: 500, totalMs: 500 } });
    const meter = new RecordingMeter(Array<'stale'>(100).fill('stale'));
    expect(await failure(caller.call(get(), meter))).toBeInstanceOf(CallTimedOut);
    // The pauses are 2, 4, 8 … 256 ms.
    expect(meter.outcomes.length).toBeLessThanOrEqual(9);
    expect(new Set(meter.outcomes)).toEqual(new Set(['given back']));
    expect(seen).toEqual([]);
  });

  it('a call ends with its first answer if no permit of the second request is fresh', async () => {
    handlers = [(_, response) => response.writeHead(503).end()];
    await caller.close();
    caller = newCaller({ bounds: { attemptMs: 500, totalMs: 1_000 } });
    const meter = new RecordingMeter(['granted', ...Array<'stale'>(100).fill('stale')]);
    expect(await caller.call(get(), meter)).toMatchObject({ answer: { status: 503 } });
    expect(new Set(meter.outcomes)).toEqual(new Set(['settled 503', 'given back']));
    expect(seen).toHaveLength(1);
  });

  // Each call is sent twice, since a timeout is tried again.
  it.each<[string, Handler, string]>([
    ['never answers', () => undefined, 'settled'],
    [
      'never ends its headers',
      (_, response) => {
        response.socket?.write('HTTP/1.1 200 OK\r\n');
        const drip = setInterval(() => response.socket?.write('X-Drop: 1\r\n'), 20);
        response.socket?.on('close', () => clearInterval(drip));
      },
      'settled',
    ],
    [
      'sends its body too slowly',
      (_, response) => {
        response.writeHead(200, { 'content-length': 1_000 });
        const drip = setInterval(() => response.write('.'), 20);
        response.on('close', () => clearInterval(drip));
      },
      'settled 200',
    ],
    [
      'stops in the middle of the body',
      (_, response) => void response.writeHead(200, { 'content-length': 9 }).write('half'),
      'settled 200',
    ],
  ])('both requests of a call time out on a server that %s', async (_, handler, settled) => {
    await caller.close();
    caller = newCaller({ bounds: TIGHT });
    handlers = [handler];
    const meter = new RecordingMeter();
    const startedAt = performance.now();
    expect(await failure(caller.call(get(), meter))).toBeInstanceOf(CallTimedOut);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(2 * TIGHT.attemptMs - 10);
    expect(tookMs).toBeLessThan(TIGHT.totalMs);
    expect(meter.outcomes).toEqual([settled, settled]);
  });

  it('a call ends at its total deadline although its attempts would allow more time', async () => {
    await caller.close();
    caller = newCaller({ bounds: { attemptMs: 1_500, totalMs: 1_800 } });
    handlers = [() => undefined];
    const startedAt = performance.now();
    expect(await failure(caller.call(get()))).toBeInstanceOf(CallTimedOut);
    expect(performance.now() - startedAt).toBeLessThan(2_900);
  });

  it.each<[string, Handler, string]>([
    ['resets at once', (request) => request.socket.resetAndDestroy(), 'settled'],
    ['closes the connection', (request) => request.socket.end(), 'settled'],
    [
      'resets in the middle of the body',
      (request, response) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('half', () => request.socket.resetAndDestroy());
      },
      'settled 200',
    ],
    [
      'sends less than its content-length',
      (_, response) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('short', () => response.socket?.end());
      },
      'settled 200',
    ],
    [
      'breaks off a chunked body',
      (_, response) => {
        response.writeHead(200);
        response.write('chunk', () => response.socket?.destroy());
      },
      'settled 200',
    ],
    ['answers with another protocol', (request) => request.socket.end('SSH-2.0-OpenSSH\r\n'), 'settled'],
    [
      'sends more than 32 KB of headers',
      (request) => request.socket.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}`),
      'settled',
    ],
    [
      'labels plain text as gzip',
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip'),
      'settled 200',
    ],
    [
      'sends half of its gzip',
      (_, response) =>
        response
          .writeHead(200, { 'content-encoding': 'gzip' })
          .end(gzipSync('x'.repeat(999)).subarray(0, 20)),
      'settled 200',
    ],
    [
      'uses a content-encoding that was not accepted',
      (_, response) => response.writeHead(200, { 'content-encoding': 'zstd' }).end('zzz'),
      'settled 200',
    ],
  ])(
    'a call fails with ConnectionFailed, and the next call succeeds, when a server %s',
    async (_, handler, settled) => {
      handlers = [handler];
      const meter = new RecordingMeter();
      expect(await failure(caller.call(get(), meter))).toBeInstanceOf(ConnectionFailed);
      expect(meter.outcomes).toEqual([settled, settled]);
      handlers = [(__, response) => response.end('fine')];
      expect(await caller.call(get())).toMatchObject({ answer: { status: 200, body: Buffer.from('fine') } });
    },
  );

  it('a call does not read the excess bytes of the previous answer', async () => {
    handlers = [
      (request) =>
        request.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfineHTTP/1.1 200 OK\r\n\r\nevil'),
      (_, response) => response.end('next'),
    ];
    expect(await caller.call(get())).toMatchObject({ answer: { body: Buffer.from('fine') } });
    expect(await caller.call(get())).toMatchObject({ answer: { body: Buffer.from('next') } });
  });

  it.each<[string, Handler]>([
    ['announces it', (_, response) => void response.writeHead(200, { 'content-length': 2_000 }).write('x')],
    ['sends it', (_, response) => response.end('x'.repeat(2_000))],
    [
      'never stops',
      (_, response) => {
        const more = () => void (response.destroyed || response.write('x'.repeat(1_000), more));
        more();
      },
    ],
    [
      'sends it in gzip',
      (_, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(900_000))),
    ],
    ['sends it in brotli', (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end(BOMB)],
  ])(
    'a call fails with AnswerTooLarge, without a second try, when a body is too long and the server %s',
    async (_, handler) => {
      handlers = [handler];
      const meter = new RecordingMeter();
      const error = await failure(caller.call(get({ maxBytes: 1_000 }), meter));
      expect(error).toBeInstanceOf(AnswerTooLarge);
      expect(meter.outcomes).toEqual(['settled 200']);
    },
  );

  it('a call accepts a decoded body of exactly maxBytes', async () => {
    handlers = [
      (_, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(1_000))),
    ];
    expect(await caller.call(get({ maxBytes: 1_000 }))).toMatchObject({ answer: { status: 200 } });
  });

  it('a call whose signal has aborted requests no permit', async () => {
    const meter = new RecordingMeter();
    expect(await failure(caller.call(get({ signal: AbortSignal.abort() }), meter))).toBeInstanceOf(
      CallAborted,
    );
    expect([meter.requests, seen.length]).toEqual([0, 0]);
  });

  it.each<[string, Handler, string]>([
    ['before the headers', () => undefined, 'settled'],
    [
      'in the body',
      (_, response) => void response.writeHead(200, { 'content-length': 9 }).write('half'),
      'settled 200',
    ],
  ])('a call aborted %s ends at once, without a second try', async (_, handler, settled) => {
    const abort = new AbortController();
    handlers = [
      (request, response) => {
        handler(request, response);
        setTimeout(() => abort.abort(new Error('shutting down')), 30);
      },
    ];
    const meter = new RecordingMeter();
    const startedAt = performance.now();
    expect(await failure(caller.call(get({ signal: abort.signal }), meter))).toBeInstanceOf(CallAborted);
    expect(performance.now() - startedAt).toBeLessThan(GENEROUS.attemptMs);
    expect([seen.length, meter.outcomes]).toEqual([1, [settled]]);
  });

  it('a call aborted between its two tries is not sent again', async () => {
    await caller.close();
    caller = newCaller({ random: () => 1 });
    const abort = new AbortController();
    handlers = [(_, response) => response.writeHead(503).end()];
    const meter = new RecordingMeter([], () => setTimeout(() => abort.abort(), 10));
    expect(await failure(caller.call(get({ signal: abort.signal }), meter))).toBeInstanceOf(CallAborted);
    expect([seen.length, meter.outcomes]).toEqual([1, ['settled 503']]);
  });

  it('an abort after the answer does not affect the next call', async () => {
    const abort = new AbortController();
    expect(await caller.call(get({ signal: abort.signal }))).toMatchObject({ kind: 'answered' });
    abort.abort();
    expect(await caller.call(get())).toMatchObject({ kind: 'answered' });
  });

  it('a call that got no free connection gives its permit back', async () => {
    await caller.close();
    caller = newCaller({ connections: 1, bounds: { attemptMs: 1_000, totalMs: 1_100 } });
    handlers = [() => undefined];
    const [busy, waiting] = [new RecordingMeter(), new RecordingMeter()];
    await Promise.all([
      failure(caller.call(get({ repeatable: false }), busy)),
      failure(caller.call(get({ repeatable: false }), waiting)),
    ]);
    expect([seen.length, busy.outcomes, waiting.outcomes]).toEqual([1, ['settled'], ['given back']]);
  });

  it('a call whose connection is refused gives both permits back', async () => {
    const closed = createTcpServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const gone = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
    await new Promise((resolve) => closed.close(resolve));
    const unconnected = new OutboundCaller(GENEROUS, {
      name: 'test',
      hosts: [gone],
      logger,
      random: ALMOST_NO_PAUSE,
    });
    const meter = new RecordingMeter();
    expect(await failure(unconnected.call({ method: 'GET', url: gone }, meter))).toBeInstanceOf(
      ConnectionFailed,
    );
    expect(meter.outcomes).toEqual(['given back', 'given back']);
    await unconnected.close();
  });

  it('the caller opens no more connections than configured, and reuses its connections', async () => {
    await caller.close();
    caller = newCaller({ connections: 3, bounds: { attemptMs: 5_000, totalMs: 5_000 } });
    let most = 0;
    handlers = [
      (_, response) => {
        void connections().then((count) => (most = Math.max(most, count)));
        setTimeout(() => response.end('ok'), 5);
      },
    ];
    await Promise.all(Array.from({ length: 30 }, () => caller.call(get())));
    expect([seen.length, most]).toEqual([30, 3]);
  });

  it('a call returns the answer although settling its permit failed', async () => {
    const meter = new RecordingMeter([], () => {
      throw new Error('postgres is away');
    });
    expect(await caller.call(get(), meter)).toMatchObject({ answer: { status: 200 } });
  });

  it('a call with malformed headers sends nothing and gives its permit back', async () => {
    const meter = new RecordingMeter();
    const broken = get({ headers: { authorization: `a\r\nb: ${SECRET}` }, repeatable: false });
    expect(await failure(caller.call(broken, meter))).toBeInstanceOf(ConnectionFailed);
    expect([seen, meter.outcomes]).toEqual([[], ['given back']]);
  });

  it('calls leave no listener on a signal that outlives them', async () => {
    const abort = new AbortController();
    let listening = 0;
    const { signal } = abort;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listening += 1;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listening -= 1;
      removeEventListener.apply(signal, args);
    };
    handlers = [(_, response) => response.writeHead(500).end()];
    for (let n = 0; n < 3; n += 1) await caller.call(get({ signal }));
    expect(listening).toBe(0);
  });
});

describe('OutboundCaller under random outcomes', () => {
  const failed = (
    error: ConnectionFailed | CallTimedOut | AnswerTooLarge,
    written: boolean,
    head?: AnswerHead,
  ): ExchangeOutcome => ({
    kind: 'failed',
    error,
    written,
    head,
  });
  const answer = (status: number): ExchangeOutcome => ({
    kind: 'answered',
    answer: { status, headers: {}, body: Buffer.alloc(0) },
  });
  const step = fc.record({
    verdict: fc.constantFrom<'granted' | 'notNow' | 'stale'>(
      'granted',
      'granted',
      'granted',
      'stale',
      'notNow',
    ),
    outcome: fc.oneof(
      fc.constantFrom(200, 401, 404, 408, 429, 500, 503).map(answer),
      fc.boolean().map((written) => failed(new ConnectionFailed('h'), written)),
      fc.boolean().map((written) => failed(new CallTimedOut('h'), written)),
      fc.constant(failed(new ConnectionFailed('h'), true, { status: 200, headers: {} })),
      fc.constant(failed(new AnswerTooLarge('h', 1), true, { status: 200, headers: {} })),
      fc.constant('throws' as const),
    ),
    abort: fc.constantFrom<'no' | 'asking' | 'sending' | 'settling'>(
      'no',
      'no',
      'no',
      'asking',
      'sending',
      'settling',
    ),
  });

  it('every permit is settled or given back exactly once, and at most two requests are sent', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        async (steps, repeatable) => {
          const abort = new AbortController();
          let granted = 0;
          let sent = 0;
          const now = () => steps[Math.min(granted, steps.length) - 1];
          const recording = new RecordingMeter(
            steps.map(({ verdict }) => verdict),
            () => now()?.abort === 'settling' && abort.abort(),
          );
          const meter: Meter<NoPermit> = {
            permit: async (signal) => {
              granted += 1;
              if (now()?.abort === 'asking') abort.abort();
              // Every second permit is requested without the signal, as a meter that ignores the signal would do.
              return recording.permit(granted % 2 ? undefined : signal);
            },
          };
          const exchange: Exchange = async (_request, { signal, mayWrite }) => {
            await Promise.resolve();
            if (signal.aborted) return failed(new ConnectionFailed('h'), false);
            if (!mayWrite()) return { kind: 'stale' };
            const { outcome, abort: when } = now() ?? { outcome: answer(200), abort: 'no' };
            if (when === 'sending') abort.abort();
            if (outcome === 'throws') throw new Error('a bug');
            if (outcome.kind === 'answered' || (outcome.kind === 'failed' && outcome.written)) sent += 1;
            return outcome;
          };
          const caller = new OutboundCaller(
            { attemptMs: 1_000, totalMs: 1_000 },
            { name: 'test', hosts: ['http://h'], logger, exchange, random: ALMOST_NO_PAUSE },
          );
          const request = { method: 'GET' as const, url: 'http://h/', signal: abort.signal, repeatable };
          const ended = await caller.call(request, meter).then(
            ({ kind }) => kind as string,
            (error: Error) => error.name,
          );
          expect([
            'answered',
            'notNow',
            'CallAborted',
            'CallTimedOut',
            'ConnectionFailed',
            'AnswerTooLarge',
          ]).toContain(ended);
          expect(recording.outcomes).not.toContain(undefined);
          expect(sent).toBeLessThanOrEqual(repeatable ? 2 : 1);
        },
      ),
      { numRuns: 500 },
    );
  });
});

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLogger } from '#platform';
import { eventually } from '../../../test/harness/eventually.js';
import { type Exchange, type Exchanged, type Head, type OutboundRequest } from './exchange.js';
import { type Leave, type Meter, type Refusal } from './meter.js';
import { type Bounds, OutboundCaller } from './outbound-caller.js';
import { AnswerTooLarge, CallAborted, CallTimedOut, ConnectionFailed } from './outbound.errors.js';

const logger = createLogger({ level: 'silent', process: 'test' });
// Where time is not what is tested, a busy machine must not decide.
const PATIENT: Bounds = { attemptMs: 10_000, totalMs: 20_000 };
const ALMOST_NO_PAUSE = () => -0.33;
const HASTY: Bounds = { attemptMs: 500, totalMs: 5_000 };
const REFUSED = { kind: 'refused' as const, window: 'read 15min' };
const BOMB = brotliCompressSync(Buffer.alloc(16_000_000));
const SECRET = 'hunter2-hunter2';

/** Counts what becomes of each admission. `verdicts` are used up one by one, then everything is granted. */
class Books implements Meter<Refusal> {
  readonly ends: Array<string | undefined> = [];
  asked = 0;
  constructor(
    private readonly verdicts: Array<'granted' | 'refused' | 'stale'> = [],
    private readonly closing: (entry: string) => void = () => undefined,
  ) {}

  async admit(signal?: AbortSignal): Promise<Leave | Refusal> {
    this.asked += 1;
    await Promise.resolve();
    signal?.throwIfAborted();
    const verdict = this.verdicts.shift() ?? 'granted';
    if (verdict === 'refused') return REFUSED;
    const index = this.ends.push(undefined) - 1;
    const end = (how: string) => {
      expect(this.ends[index]).toBeUndefined();
      this.ends[index] = how;
      this.closing(how);
      return Promise.resolve();
    };
    return {
      kind: 'granted',
      isFresh: () => verdict !== 'stale',
      settle: (answer: Head | undefined) => end(answer ? `settled ${answer.status}` : 'settled'),
      giveBack: () => end('given back'),
    };
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

describe('a call to a real server', () => {
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
    return new OutboundCaller(options.bounds ?? PATIENT, {
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

  it('brings the whole answer and settles its admission with it', async () => {
    handlers = [(_, response) => response.writeHead(201, { 'X-Limit': ['1', '2'] }).end('body')];
    const books = new Books();
    const { answer } = (await caller.call(get(), books)) as { answer: Head & { body: Buffer } };
    expect(answer).toMatchObject({ status: 201, headers: { 'x-limit': '1, 2' } });
    expect(answer.body.toString()).toBe('body');
    expect(books.ends).toEqual(['settled 201']);
  });

  it('sends method, headers and body', async () => {
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
  ])('understands %s', async (encoding, encode) => {
    handlers = [
      (_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(encode('hello')),
    ];
    expect(await caller.call(get())).toMatchObject({ answer: { body: Buffer.from('hello') } });
  });

  it('does not follow a redirect', async () => {
    handlers = [(_, response) => response.writeHead(302, { location: `${url}/elsewhere` }).end()];
    expect(await caller.call(get())).toMatchObject({ answer: { status: 302 } });
    expect(seen).toHaveLength(1);
  });

  it.each(['http://127.0.0.1:1/x', 'https://www.strava.com/x', 'http://user@evil.example/x'])(
    'speaks to nobody but its hosts: %s',
    async (elsewhere) => {
      const books = new Books();
      await expect(caller.call(get({ url: elsewhere }), books)).rejects.toThrow('is not a host of test');
      expect(books.asked).toBe(0);
    },
  );

  it.each([408, 500, 502, 503, 597])('tries once more after %i, as a new admission', async (status) => {
    handlers = [(_, response) => response.writeHead(status).end(), (_, response) => response.end('ok')];
    const books = new Books();
    expect(await caller.call(get(), books)).toMatchObject({ answer: { status: 200 } });
    expect(books.ends).toEqual([`settled ${status}`, 'settled 200']);
  });

  it('tries once more and not twice', async () => {
    handlers = [(_, response) => response.writeHead(503).end()];
    const books = new Books();
    expect(await caller.call(get(), books)).toMatchObject({ answer: { status: 503 } });
    expect([seen.length, books.ends]).toEqual([2, ['settled 503', 'settled 503']]);
  });

  it.each([200, 204, 304, 400, 401, 403, 404, 422])(
    'does not repeat what was answered %i',
    async (status) => {
      handlers = [(_, response) => response.writeHead(status).end()];
      await caller.call(get());
      expect(seen).toHaveLength(1);
    },
  );

  it('does not repeat what must not be', async () => {
    handlers = [(_, response) => response.writeHead(503).end()];
    await caller.call(get({ method: 'POST', repeatable: false }));
    expect(seen).toHaveLength(1);
  });

  it('repeats a 429 only where nobody counts', async () => {
    handlers = [(_, response) => response.writeHead(429).end()];
    await caller.call(get(), new Books());
    expect(seen).toHaveLength(1);
    await caller.call(get());
    expect(seen).toHaveLength(3);
  });

  it('leaves it at the first answer when it should come back later than it can', async () => {
    handlers = [(_, response) => response.writeHead(503, { 'retry-after': '3600' }).end()];
    const startedAt = performance.now();
    expect(await caller.call(get())).toMatchObject({ answer: { status: 503 } });
    expect([seen.length, performance.now() - startedAt < PATIENT.attemptMs]).toEqual([1, true]);
  });

  it('lets the first outcome stand when a second admission is refused', async () => {
    handlers = [(_, response) => response.writeHead(503).end('busy')];
    const books = new Books(['granted', 'refused']);
    expect(await caller.call(get(), books)).toMatchObject({ answer: { status: 503 } });
    handlers = [(_, response) => response.destroy()];
    const again = new Books(['granted', 'refused']);
    expect(await failure(caller.call(get(), again))).toBeInstanceOf(ConnectionFailed);
    expect([books.ends, again.ends]).toEqual([['settled 503'], ['settled']]);
  });

  it('hands a refusal on and calls nobody', async () => {
    expect(await caller.call(get(), new Books(['refused']))).toBe(REFUSED);
    expect(seen).toEqual([]);
  });

  it('gives a stale admission back before anything is written, and takes another', async () => {
    const books = new Books(['stale', 'stale', 'granted']);
    expect(await caller.call(get(), books)).toMatchObject({ answer: { status: 200 } });
    expect([seen.length, books.ends]).toEqual([1, ['given back', 'given back', 'settled 200']]);
    expect(await connections()).toBe(1);
  });

  it('ends in the refusal when a stale admission cannot be had anew', async () => {
    const books = new Books(['stale', 'refused']);
    expect(await caller.call(get(), books)).toBe(REFUSED);
    expect([seen.length, books.ends]).toEqual([0, ['given back']]);
  });

  it.each(['refused', 'unavailable', 'unwanted'] as const)(
    'hands on a no of any kind that comes only after a stale admission: %s',
    async (kind) => {
      const books = new Books(['stale']);
      const no = { kind };
      const meter: Meter<Refusal> = {
        admit: (signal) => (books.asked === 0 ? books.admit(signal) : Promise.resolve(no)),
      };
      expect(await caller.call(get(), meter)).toBe(no);
      expect([seen.length, books.ends]).toEqual([0, ['given back']]);
    },
  );

  it('does not wait longer than in total for an admission that stays fresh', async () => {
    await caller.close();
    caller = newCaller({ bounds: { attemptMs: 250, totalMs: 400 } });
    const always: Meter<Refusal> = {
      admit: (signal) => new Books(['stale']).admit(signal),
    };
    expect(await failure(caller.call(get(), always))).toBeInstanceOf(CallTimedOut);
    expect(seen).toEqual([]);
  });

  // Each of them twice: what fails so is tried again.
  it.each<[string, Handler, string]>([
    ['never answers', () => undefined, 'settled'],
    [
      'sends its headers in drops',
      (_, response) => {
        response.socket?.write('HTTP/1.1 200 OK\r\n');
        const drip = setInterval(() => response.socket?.write('X-Drop: 1\r\n'), 20);
        response.socket?.on('close', () => clearInterval(drip));
      },
      'settled',
    ],
    [
      'sends its body in drops',
      (_, response) => {
        response.writeHead(200, { 'content-length': 1_000 });
        const drip = setInterval(() => response.write('.'), 20);
        response.on('close', () => clearInterval(drip));
      },
      'settled 200',
    ],
    [
      'stops in the middle',
      (_, response) => void response.writeHead(200, { 'content-length': 9 }).write('half'),
      'settled 200',
    ],
  ])('gives up on a server that %s', async (_, handler, settled) => {
    await caller.close();
    caller = newCaller({ bounds: HASTY });
    handlers = [handler];
    const books = new Books();
    const startedAt = performance.now();
    expect(await failure(caller.call(get(), books))).toBeInstanceOf(CallTimedOut);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(2 * HASTY.attemptMs - 10);
    expect(tookMs).toBeLessThan(HASTY.totalMs);
    expect(books.ends).toEqual([settled, settled]);
  });

  it('keeps to the total when the attempts would allow more', async () => {
    await caller.close();
    caller = newCaller({ bounds: { attemptMs: 1_500, totalMs: 1_800 } });
    handlers = [() => undefined];
    const startedAt = performance.now();
    expect(await failure(caller.call(get()))).toBeInstanceOf(CallTimedOut);
    expect(performance.now() - startedAt).toBeLessThan(2_900);
  });

  it.each<[string, Handler, string]>([
    ['resets at once', (request) => request.socket.resetAndDestroy(), 'settled'],
    ['hangs up', (request) => request.socket.end(), 'settled'],
    [
      'resets in the middle of the body',
      (request, response) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('half', () => request.socket.resetAndDestroy());
      },
      'settled 200',
    ],
    [
      'promises more than it sends',
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
    ['does not speak HTTP', (request) => request.socket.end('SSH-2.0-OpenSSH\r\n'), 'settled'],
    [
      'sends headers without end',
      (request) => request.socket.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}`),
      'settled',
    ],
    [
      'sends gzip that is none',
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
      'encodes in a way nobody asked for',
      (_, response) => response.writeHead(200, { 'content-encoding': 'zstd' }).end('zzz'),
      'settled 200',
    ],
  ])('is told apart when a server %s', async (_, handler, settled) => {
    handlers = [handler];
    const books = new Books();
    expect(await failure(caller.call(get(), books))).toBeInstanceOf(ConnectionFailed);
    expect(books.ends).toEqual([settled, settled]);
    handlers = [(__, response) => response.end('fine')];
    expect(await caller.call(get())).toMatchObject({ answer: { status: 200, body: Buffer.from('fine') } });
  });

  it('takes no more of a too long answer for the next', async () => {
    handlers = [
      (request) =>
        request.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfineHTTP/1.1 200 OK\r\n\r\nevil'),
      (_, response) => response.end('next'),
    ];
    expect(await caller.call(get())).toMatchObject({ answer: { body: Buffer.from('fine') } });
    expect(await caller.call(get())).toMatchObject({ answer: { body: Buffer.from('next') } });
  });

  it.each<[string, Handler]>([
    ['says so', (_, response) => void response.writeHead(200, { 'content-length': 2_000 }).write('x')],
    ['sends it', (_, response) => response.end('x'.repeat(2_000))],
    [
      'never stops',
      (_, response) => {
        const more = () => void (response.destroyed || response.write('x'.repeat(1_000), more));
        more();
      },
    ],
    [
      'hides it in gzip',
      (_, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(900_000))),
    ],
    ['hides it in brotli', (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end(BOMB)],
  ])('refuses more than it wants, once, when a server %s', async (_, handler) => {
    handlers = [handler];
    const books = new Books();
    const error = await failure(caller.call(get({ maxBytes: 1_000 }), books));
    expect(error).toBeInstanceOf(AnswerTooLarge);
    expect(books.ends).toEqual(['settled 200']);
  });

  it('takes exactly as much as it wants', async () => {
    handlers = [
      (_, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(1_000))),
    ];
    expect(await caller.call(get({ maxBytes: 1_000 }))).toMatchObject({ answer: { status: 200 } });
  });

  it('does not ask for an admission after an abort', async () => {
    const books = new Books();
    expect(await failure(caller.call(get({ signal: AbortSignal.abort() }), books))).toBeInstanceOf(
      CallAborted,
    );
    expect([books.asked, seen.length]).toEqual([0, 0]);
  });

  it.each<[string, Handler, string]>([
    ['before the headers', () => undefined, 'settled'],
    [
      'in the body',
      (_, response) => void response.writeHead(200, { 'content-length': 9 }).write('half'),
      'settled 200',
    ],
  ])('is aborted %s, at once and without a second try', async (_, handler, settled) => {
    const abort = new AbortController();
    handlers = [
      (request, response) => {
        handler(request, response);
        setTimeout(() => abort.abort(new Error('shutting down')), 30);
      },
    ];
    const books = new Books();
    const startedAt = performance.now();
    expect(await failure(caller.call(get({ signal: abort.signal }), books))).toBeInstanceOf(CallAborted);
    expect(performance.now() - startedAt).toBeLessThan(PATIENT.attemptMs);
    expect([seen.length, books.ends]).toEqual([1, [settled]]);
  });

  it('is aborted between its tries', async () => {
    await caller.close();
    caller = newCaller({ random: () => 1 });
    const abort = new AbortController();
    handlers = [(_, response) => response.writeHead(503).end()];
    const books = new Books([], () => setTimeout(() => abort.abort(), 10));
    expect(await failure(caller.call(get({ signal: abort.signal }), books))).toBeInstanceOf(CallAborted);
    expect([seen.length, books.ends]).toEqual([1, ['settled 503']]);
  });

  it('does not mind an abort after the answer', async () => {
    const abort = new AbortController();
    expect(await caller.call(get({ signal: abort.signal }))).toMatchObject({ kind: 'answered' });
    abort.abort();
    expect(await caller.call(get())).toMatchObject({ kind: 'answered' });
  });

  it('gives back what waited in vain for a connection', async () => {
    await caller.close();
    caller = newCaller({ connections: 1, bounds: { attemptMs: 1_000, totalMs: 1_100 } });
    handlers = [() => undefined];
    const [busy, waiting] = [new Books(), new Books()];
    await Promise.all([
      failure(caller.call(get({ repeatable: false }), busy)),
      failure(caller.call(get({ repeatable: false }), waiting)),
    ]);
    expect([seen.length, busy.ends, waiting.ends]).toEqual([1, ['settled'], ['given back']]);
  });

  it('gives back what found nobody there', async () => {
    const nobody = createTcpServer();
    await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve));
    const gone = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}`;
    await new Promise((resolve) => nobody.close(resolve));
    const lonely = new OutboundCaller(PATIENT, {
      name: 'test',
      hosts: [gone],
      logger,
      random: ALMOST_NO_PAUSE,
    });
    const books = new Books();
    expect(await failure(lonely.call({ method: 'GET', url: gone }, books))).toBeInstanceOf(ConnectionFailed);
    expect(books.ends).toEqual(['given back', 'given back']);
    await lonely.close();
  });

  it('opens no more connections than it may, and uses them again', async () => {
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

  it('keeps the answer when the books cannot be kept', async () => {
    const books = new Books([], () => {
      throw new Error('postgres is away');
    });
    expect(await caller.call(get(), books)).toMatchObject({ answer: { status: 200 } });
  });

  it('refuses headers that are none without sending anything', async () => {
    const books = new Books();
    const broken = get({ headers: { authorization: `a\r\nb: ${SECRET}` }, repeatable: false });
    expect(await failure(caller.call(broken, books))).toBeInstanceOf(ConnectionFailed);
    expect([seen, books.ends]).toEqual([[], ['given back']]);
  });

  it('leaves nothing listening on a signal that outlives it', async () => {
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

describe('whatever happens on the wire', () => {
  const failed = (
    error: ConnectionFailed | CallTimedOut | AnswerTooLarge,
    written: boolean,
    head?: Head,
  ): Exchanged => ({
    kind: 'failed',
    error,
    written,
    head,
  });
  const answer = (status: number): Exchanged => ({
    kind: 'answered',
    answer: { status, headers: {}, body: Buffer.alloc(0) },
  });
  const step = fc.record({
    verdict: fc.constantFrom<'granted' | 'refused' | 'stale'>(
      'granted',
      'granted',
      'granted',
      'stale',
      'refused',
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

  it('every admission is settled or given back, exactly once, and there are at most two requests', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        async (steps, repeatable) => {
          const abort = new AbortController();
          let admitted = 0;
          let sent = 0;
          const now = () => steps[Math.min(admitted, steps.length) - 1];
          const books = new Books(
            steps.map(({ verdict }) => verdict),
            () => now()?.abort === 'settling' && abort.abort(),
          );
          const meter: Meter<Refusal> = {
            admit: async (signal) => {
              admitted += 1;
              if (now()?.abort === 'asking') abort.abort();
              // As a meter that pays no heed to the signal would.
              return books.admit(admitted % 2 ? undefined : signal);
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
            'refused',
            'CallAborted',
            'CallTimedOut',
            'ConnectionFailed',
            'AnswerTooLarge',
          ]).toContain(ended);
          expect(books.ends).not.toContain(undefined);
          expect(sent).toBeLessThanOrEqual(repeatable ? 2 : 1);
        },
      ),
      { numRuns: 500 },
    );
  });
});

import { describe, expect, it } from '@jest/globals';
import { type FastifyInstance } from 'fastify';
import { register } from 'prom-client';
import { createLogger } from '../logging/logger.js';
import { RouteTable } from './methods.js';
import { isOrdinaryRead, observeRequests, RefusalLog, requestIdOf } from './observe-requests.js';
import { createHttpAdapter } from './server.js';

describe('the access log', () => {
  const read = { method: 'GET', status: 200, ms: 999, allowedMs: 0, isEventStream: false };

  it.each([
    ['a read in time', {}, true],
    ['a read that takes a second', { ms: 1_000 }, false],
    ['a long poll that ends in its time', { ms: 30_500, allowedMs: 30_000 }, true],
    ['a long poll that takes a second longer', { ms: 31_000, allowedMs: 30_000 }, false],
    ['an event stream of an hour', { ms: 3_600_000, isEventStream: true }, true],
    ['a write', { method: 'POST' }, false],
    ['a read that fails', { status: 404 }, false],
    ['a redirection', { status: 302 }, true],
  ])('isOrdinaryRead of %s %j is %s', (_, facts, expected) => {
    expect(isOrdinaryRead({ ...read, ...facts })).toBe(expected);
  });

  it('the access log has one line for each write and each refusal, and for the reads that chance chooses', async () => {
    const lines: Array<Record<string, unknown>> = [];
    const destination = { write: (text: string) => void lines.push(JSON.parse(text) as (typeof lines)[0]) };
    const server: FastifyInstance = createHttpAdapter([]).getInstance();
    const chances = [0.009, 0.011];
    observeRequests(server, createLogger({ level: 'info', process: 'test', destination }), 100, () =>
      Number(chances.shift()),
    );
    server.route({ method: ['GET', 'POST'], url: '/things/:id', handler: () => ({}) });
    const url = await server.listen({ port: 0, host: '127.0.0.1' });
    const send = (method: string, path: string) =>
      fetch(url + path, { method, headers: { 'x-request-id': path.slice(-1) } });
    await send('GET', '/things/1');
    await send('GET', '/things/2');
    await send('POST', '/things/3');
    await send('GET', '/nothing/4');
    await server.close();
    const facts = { level: 'info', msg: 'request', method: 'GET', route: '/things/:id', status: 200 };
    expect(lines).toEqual([
      expect.objectContaining({ ...facts, request_id: '1', sampled: 100 }),
      expect.objectContaining({ ...facts, request_id: '3', method: 'POST' }),
      expect.objectContaining({ ...facts, request_id: '4', route: 'unmatched', status: 404 }),
    ]);
    expect(lines[1]).not.toHaveProperty('sampled');
  });
});

describe('the histogram of requests', () => {
  it('the histogram counts a 405 of any route as unmatched, and the log line keeps the route', async () => {
    const lines: Array<Record<string, unknown>> = [];
    const destination = { write: (text: string) => void lines.push(JSON.parse(text) as (typeof lines)[0]) };
    const server: FastifyInstance = createHttpAdapter([]).getInstance();
    const routes = new RouteTable(server);
    observeRequests(server, createLogger({ level: 'info', process: 'test', destination }), 100, () => 1);
    for (const url of ['/apples', '/pears/:id']) server.get(url, () => ({}));
    routes.answerOtherMethods();
    const url = await server.listen({ port: 0, host: '127.0.0.1' });
    for (const path of ['/apples', '/pears/1'])
      for (const method of ['GET', 'PUT', 'POST', 'PATCH', 'DELETE']) await fetch(url + path, { method });
    await server.close();
    const text = await register.getSingleMetricAsString('http_request_duration_seconds');
    const counted = [...text.matchAll(/_count\{method="(\w+)",route="([^"]+)",status="(405|200)"\} (\d+)/g)];
    const of = (status: string) =>
      counted.filter((one) => one[3] === status).map(([, method, route, , count]) => [method, route, count]);
    expect(of('405')).toEqual(['PUT', 'POST', 'PATCH', 'DELETE'].map((method) => [method, 'unmatched', '2']));
    expect(of('200')).toEqual(
      expect.arrayContaining([
        ['GET', '/apples', '1'],
        ['GET', '/pears/:id', '1'],
      ]),
    );
    expect(lines.map(({ route }) => route)).toContain('/pears/:id');
  });
});

describe('the id of a request', () => {
  it('the request id is the client’s, unless it is malformed or looks like a service key', () => {
    expect(requestIdOf({ 'x-request-id': 'order-17.a' })).toBe('order-17.a');
    for (const refused of ['', 'a b', 'x'.repeat(65), `pk_${'x'.repeat(43)}`])
      expect(requestIdOf({ 'x-request-id': refused })).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('RefusalLog', () => {
  it('RefusalLog counts all refusals, and allows one log line a second with the number of unlogged refusals', async () => {
    const lines = new RefusalLog();
    expect(lines.count(401, 0)).toBe(0);
    for (const at of [1, 500, 999]) expect(lines.count(401, at)).toBeUndefined();
    expect(lines.count(403, 1_000)).toBe(3);
    expect(lines.count(401, 2_500)).toBe(0);
    const text = await register.getSingleMetricAsString('http_refusals_total');
    expect(text).toContain('http_refusals_total{status="401"} 5');
    expect(text).toContain('http_refusals_total{status="403"} 1');
  });
});

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { ProductProcess } from '../harness/process.js';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
}

/** Takes spans as an OpenTelemetry collector does, over OTLP/HTTP in JSON. */
class Collector {
  readonly spans: Span[] = [];
  private readonly server: Server = createServer((incoming, answer) => {
    void incoming.toArray().then((chunks: Buffer[]) => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as {
        resourceSpans: Array<{ scopeSpans: Array<{ spans: Span[] }> }>;
      };
      this.spans.push(
        ...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      );
      answer.setHeader('content-type', 'application/json').end('{}');
    });
  });

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
  }
}

describe('tracing', () => {
  const collector = new Collector();
  let environment: TestEnvironment;
  let api: ProductProcess;
  beforeAll(async () => {
    environment = await testEnvironment({
      OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(),
      LOG_LEVEL: 'debug',
    });
    api = await ProductProcess.start('api', environment.env);
  });
  afterAll(async () => {
    await api.stop();
    collector.close();
    await environment.release();
  });

  it("continues the caller's trace, sends the span of the request and ties the log line to it", async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    await request(api.url)
      .get('/v1/me')
      .set('traceparent', `00-${traceId}-00f067aa0ba902b7-01`)
      .set('authorization', `Bearer ${await tokenFor('traced')}`)
      .expect(200);
    const line = await api.line(({ route }) => route === '/v1/me');
    expect(line).toMatchObject({ trace_id: traceId });
    // What is buffered is sent at the latest when the process ends.
    const ended = api.stop();
    const span = await eventually('the span', () =>
      collector.spans.find(({ name }) => name === 'GET /v1/me'),
    );
    expect(span).toMatchObject({ traceId, parentSpanId: '00f067aa0ba902b7' });
    expect(await ended).toBe(0);
  });
});

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import request from 'supertest';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';
import { ProductProcess } from '../harness/process.js';

const INGEST_KEY = 'an-ingest-key-for-tests';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
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
  let server: NatsServer;
  let connection: NatsConnection;
  let api: ProductProcess;
  beforeAll(async () => {
    server = await NatsServer.start();
    connection = await connect({ servers: server.url });
    environment = await testEnvironment({
      NATS_URL: server.url,
      INGEST_API_KEYS: INGEST_KEY,
      OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(),
      LOG_LEVEL: 'debug',
      // Spans are not kept for seconds before they are sent.
      OTEL_BSP_SCHEDULE_DELAY: '50',
    });
    api = await ProductProcess.start('api', environment.env);
  });
  afterAll(async () => {
    await api.stop();
    collector.close();
    await connection.close();
    await server.stop();
    await environment.release();
  });

  it('follows a night from the request through NATS to the event that comes of it', async () => {
    const worker = await ProductProcess.start('worker', environment.env);
    const traceId = '5bf92f3577b34da6a3ce929d0e0e4737';
    const span = (name: string) =>
      collector.spans.find((one) => one.name === name && one.traceId === traceId);
    await request(api.url)
      .post('/api/v1/ingest/sleep')
      .set({ 'x-api-key': INGEST_KEY, traceparent: `00-${traceId}-00f067aa0ba902b7-01` })
      .send({ userId: 'traced', date: '2025-10-02', durationMinutes: 420 })
      .expect(200);
    const consumed = await eventually('the span of the worker', () => span('normalize.sleep.consume'));
    const published = await eventually('the span of the api', () => span('ingest.sleep.publish'));
    expect(consumed.parentSpanId).toBe(published.spanId);
    expect(published.parentSpanId).toBe(
      (await eventually('the span of the request', () => span('POST /api/v1/ingest/sleep'))).spanId,
    );
    const told = await (
      await jetstreamManager(connection)
    ).streams.getMessage('AA_CORE_HOT', {
      last_by_subj: 'athlete-ally.sleep.normalized-stored',
    });
    expect(told?.header.get('traceparent')).toBe(`00-${traceId}-${consumed.spanId}-01`);
    await worker.stop();
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

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import request from 'supertest';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { dashboards, measuredBy, rules, withAllChosen } from '../harness/monitoring-files.js';
import { NatsServer } from '../harness/nats-server.js';
import { OtlpCollector, problemsOf } from '../harness/otlp-collector.js';
import { type ProductProcess } from '../harness/process.js';
import { hasPrometheus, Prometheus, promtool } from '../harness/prometheus.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const INGEST_KEY = 'an-ingest-key-for-tests';
const ATHLETE = 'ann-whose-subject-is-secret';
const WITH_PROMETHEUS = hasPrometheus ? it : it.skip;

describe('traces and logs of a running product', () => {
  const collector = new OtlpCollector();
  let nats: NatsServer;
  let connection: NatsConnection;
  let world: World;
  let worker: ProductProcess;
  let vendorAthlete: string;

  beforeAll(async () => {
    nats = await NatsServer.start();
    connection = await connect({ servers: nats.url });
    world = await World.start({
      env: {
        NATS_URL: nats.url,
        INGEST_API_KEYS: INGEST_KEY,
        OTEL_EXPORTER_OTLP_ENDPOINT: `${await collector.listen()}/`,
        // The process sends its spans after 50 ms instead of after seconds.
        OTEL_BSP_SCHEDULE_DELAY: '50',
        // So rare that no read of this test is chosen for a line.
        LOG_READS_EVERY: '1000000000',
      },
    });
    worker = world.workers[0] as ProductProcess;
    vendorAthlete = await world.vendorAthlete(2);
    await world.connect(ATHLETE, vendorAthlete);
  });
  afterAll(async () => {
    await world?.stop();
    collector?.close();
    await connection?.close();
    await nats?.stop();
  });

  const spanOf = (traceId: string, name: string) =>
    eventually(`the span ${name}`, () =>
      collector.spans.find((one) => one.traceId === traceId && one.name === name),
    );
  const tracedBy = (traceId: string) => `00-${traceId}-00f067aa0ba902b7-01`;
  const postNight = (userId: string, headers: Readonly<Record<string, string>>) =>
    request(world.api.url)
      .post('/api/v1/ingest/sleep')
      .set({ 'x-api-key': INGEST_KEY, ...headers })
      .send({ userId, date: '2025-10-02', durationMinutes: 420 })
      .expect(200);

  it('one trace leads from the webhook to the stored stream, and each line on the way has the id of the request', async () => {
    await world.importUntil(
      ATHLETE,
      (await world.call<{ items: Array<{ id: string }> }>(ATHLETE, 'GET', '/v1/imports')).body.items[0]?.id ??
        '',
      ({ status }) => status === 'completed',
    );
    await world.control('POST', 'activities', { athlete_id: vendorAthlete });
    const line = await worker.line(
      ({ msg, request_id }) => msg === 'stream fetch attempted' && Boolean(request_id),
    );
    expect(line).toMatchObject({ status: 'success', trace_id: expect.any(String) });
    const traceId = String(line.trace_id);

    const [webhook, event, detail, fetched, streams, stored] = [
      await spanOf(traceId, 'POST /webhooks/:vendor/:secret'),
      await spanOf(traceId, 'strava event'),
      await spanOf(traceId, 'strava activity'),
      await spanOf(traceId, 'stream fetch'),
      await spanOf(traceId, 'strava streams'),
      await spanOf(traceId, 'stream store'),
    ];
    expect([webhook.service, event.service]).toEqual(['pacekeeper-api', 'pacekeeper-worker']);
    expect(webhook.parentSpanId).toBeUndefined();
    expect(event.parentSpanId).toBe(webhook.spanId);
    for (const child of [detail, fetched]) expect(child.parentSpanId).toBe(event.spanId);
    for (const child of [streams, stored]) expect(child.parentSpanId).toBe(fetched.spanId);
    expect(streams.attributes).toContainEqual({ key: 'http.response.status_code', value: { intValue: 200 } });

    const requestId = line.request_id;
    expect(await world.api.line(({ request_id }) => request_id === requestId)).toMatchObject({
      level: 'info',
      msg: 'request',
      route: '/webhooks/:vendor/:secret',
      status: 200,
      trace_id: traceId,
    });
    expect(await worker.line(({ msg }) => msg === 'strava event handled')).toMatchObject({
      request_id: requestId,
      outcome: 'applied',
    });
  });

  it('a trace follows a night from its request through NATS to the published night, and the night leaves one line', async () => {
    const traceId = '5bf92f3577b34da6a3ce929d0e0e4737';
    await postNight('traced', {
      traceparent: tracedBy(traceId),
      'x-request-id': 'night-17',
      baggage: 'name=ann',
    });
    const consumed = await spanOf(traceId, 'normalize.sleep.consume');
    const published = await spanOf(traceId, 'ingest.sleep.publish');
    expect(consumed.parentSpanId).toBe(published.spanId);
    expect(published.parentSpanId).toBe((await spanOf(traceId, 'POST /api/v1/ingest/sleep')).spanId);
    const { streams } = await jetstreamManager(connection);
    const stored = await streams.getMessage('AA_CORE_HOT', {
      last_by_subj: 'athlete-ally.sleep.normalized-stored',
    });
    expect(stored?.header.get('traceparent')).toBe(`00-${traceId}-${consumed.spanId}-01`);
    expect(stored?.header.get('request-id')).toBe('night-17');
    expect(stored?.header.has('baggage')).toBe(false);
    const lines = worker.lines.filter(({ request_id }) => request_id === 'night-17');
    expect(lines).toEqual([
      expect.objectContaining({ level: 'info', msg: 'sleep data processed', trace_id: traceId }),
    ]);
  });

  it('a requested job runs in the trace of its request, and its line has the id of the request', async () => {
    // A request while an automatic job is unfinished would get that job, which belongs to no request.
    await eventually('each activity is processed', async () => {
      const unprocessed = `
        select from activity
        where not exists (select from processed_activities where activity_id = id)
          or exists (select from jobs where jobs.activity_id = id and finished_at_utc is null)`;
      return (await world.rows(unprocessed)).length === 0;
    });
    const traceId = '6bf92f3577b34da6a3ce929d0e0e4738';
    const headers = { traceparent: tracedBy(traceId), 'x-request-id': 'job-17' };
    const { status } = await world.call(ATHLETE, 'POST', '/v1/activities/latest/process', {}, headers);
    expect(status).toBe(202);
    const line = await worker.line(({ msg, request_id }) => msg === 'run ended' && request_id === 'job-17');
    expect(line).toMatchObject({ trace_id: traceId });
    expect((await spanOf(traceId, 'job run')).parentSpanId).toBe(
      (await spanOf(traceId, 'POST /v1/activities/latest/process')).spanId,
    );
  });

  it('the api logs each write and each refusal at info, and of the reads only the sampled ones', async () => {
    const get = async (path: string, id: string, token: string) =>
      request(world.api.url)
        .get(path)
        .set({ authorization: `Bearer ${token}`, 'x-request-id': id });
    const token = await tokenFor(ATHLETE);
    expect((await get('/v1/me', 'read-17', token)).status).toBe(200);
    expect((await get('/v1/jobs/not-an-id', 'refused-17', token)).status).toBe(404);
    await world.api.line(({ request_id }) => request_id === 'refused-17');
    expect(world.api.lines.filter(({ request_id }) => request_id === 'read-17')).toEqual([]);
  });

  WITH_PROMETHEUS(
    'promtool finds no problem in the configuration, the rules and their tests (skipped without Prometheus)',
    async () => {
      await promtool(['check', 'config', 'prometheus.yml']);
      expect(await promtool(['test', 'rules', 'tests/alerts.yml'])).toContain('SUCCESS');
    },
  );

  WITH_PROMETHEUS(
    'promtool finds no problem in the metrics of the api and the worker (skipped without Prometheus)',
    async () => {
      for (const { url } of [world.api, worker]) {
        const { text } = await request(url).get('/metrics').expect(200);
        expect(await promtool(['check', 'metrics'], text)).toBe('');
      }
    },
  );

  WITH_PROMETHEUS(
    'a real Prometheus gets data for every query of the rules and the dashboards (skipped without Prometheus)',
    async () => {
      const targets = { 'api:3000': new URL(world.api.url).host, 'worker:3001': new URL(worker.url).host };
      for (const { url } of [world.api, worker]) await request(url).get('/health/ready').expect(200);
      const prometheus = await Prometheus.start(targets);
      try {
        await postNight('scraped', {});
        const queries = new Set([
          ...rules().flatMap(measuredBy),
          ...rules()
            .filter(({ kind }) => kind === 'record')
            .map(({ name }) => name),
          ...dashboards().flatMap(({ panels }) =>
            panels.flatMap(({ targets: all = [] }) => all.map(({ expr }) => withAllChosen(expr))),
          ),
        ]);
        expect(queries.size).toBeGreaterThan(100);
        let missing = [...queries];
        await eventually('data for all queries', async () => {
          const results = await Promise.all(missing.map((query) => prometheus.query(query)));
          missing = missing.filter((_, index) => results[index]?.length === 0);
          return missing.length === 0;
        }).catch((cause: unknown) => {
          throw new Error(`no data for:\n${missing.join('\n')}`, { cause });
        });
        const up = await prometheus.query('up{job=~"pacekeeper.*"}');
        expect(up.map(({ value }) => value[1])).toEqual(['1', '1']);
      } finally {
        await prometheus.stop();
      }
    },
  );

  it('the collector gets valid OTLP, and neither spans nor log lines have tokens, secrets or subjects', async () => {
    expect(collector.problems).toEqual([]);
    expect(collector.spans.length).toBeGreaterThan(10);
    const tokens = await world.rows<{ access_token: string }>('select access_token from connection');
    const secrets = [
      ...['the-secret-of-the-app', 'a-path-nobody-guesses', INGEST_KEY, ATHLETE],
      ...[world.env.JWT_SECRET ?? '', await tokenFor(ATHLETE), ...tokens.map((row) => row.access_token)],
    ];
    const output = [collector.text, ...[world.api, worker].map(({ lines }) => JSON.stringify(lines))].join(
      '\n',
    );
    expect(secrets.filter((secret) => output.includes(secret))).toEqual([]);
  });

  it('the collector of the tests refuses spans that OTLP does not allow', () => {
    const sent = JSON.parse(collector.text.slice(0, collector.text.indexOf('}{') + 1 || undefined)) as object;
    expect(problemsOf(sent)).toEqual([]);
    const broken = (from: string, to: string) =>
      problemsOf(JSON.parse(JSON.stringify(sent).replace(from, to)));
    expect(broken('"traceId":"', '"traceId":"0')).not.toEqual([]);
    expect(broken('"kind":', '"sort":')).not.toEqual([]);
    expect(broken('"startTimeUnixNano":"1', '"startTimeUnixNano":"2')).not.toEqual([]);
  });
});

const MODULES = ['api/src/api.module.js', 'worker/src/worker.module.js'].map((file) => `./dist/apps/${file}`);

// prom-client loads @opentelemetry/api in any case.
it('OpenTelemetry’s SDK is not in memory while OTEL_EXPORTER_OTLP_ENDPOINT is not set', async () => {
  const script = `
    import { createRequire } from 'node:module';
    for (const file of ${JSON.stringify(MODULES)}) await import(file);
    const { startTracing } = await import('./dist/libs/platform/src/tracing/tracing.js');
    const count = () => Object.keys(createRequire(import.meta.url).cache).filter((name) => /@opentelemetry.(?!api.)/.test(name)).length;
    const before = count();
    await startTracing('http://127.0.0.1:1', 'test');
    console.log(JSON.stringify({ before, after: count() }));
    process.exit(0);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  const { before, after } = JSON.parse(stdout) as { readonly before: number; readonly after: number };
  expect(before).toBe(0);
  // The same count finds the modules once they are loaded.
  expect(after).toBeGreaterThan(10);
});

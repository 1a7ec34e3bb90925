import { afterAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { eventually } from '../harness/eventually.js';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { Pool } from '../harness/pool.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';
import { required } from '../harness/servers.js';

const DEPENDENCIES = ['postgres', 'redis', 'nats'] as const;
type Dependency = (typeof DEPENDENCIES)[number];
const WAYS = ['cut', 'freeze'] as const;

type Outage = readonly [way: (typeof WAYS)[number], away: readonly Dependency[]];

const subsets = [1, 2, 3, 4, 5, 6, 7].map((bits) => DEPENDENCIES.filter((_, index) => bits & (1 << index)));
const everyOutage: Outage[] = WAYS.flatMap((way) => subsets.map((away) => [way, away] as const));
const total: Outage[] = WAYS.map((way) => [way, DEPENDENCIES]);

// A test of an outage mostly waits for time-outs. So two such tests of the api run at a time, each with a process of its own.
describe.each([
  ['api', everyOutage, 2],
  ['worker', total, 1],
] as const)('the %s without some of its servers', (app, outages, processes) => {
  const pool = new Pool(processes, () => ProxiedProcess.start(app));
  afterAll(() => pool.close((one) => one.stop()));

  it.concurrent.each(outages)(
    `the ${app} survives a %s of %j: /health/ready names these servers within 5 s, and answers 200 once they are back`,
    (way, away) =>
      pool.use(async ({ process, proxies }) => {
        for (const name of away) proxies[name][way]();
        try {
          const get = (path: string) => within5s(() => request(process.url).get(path));
          const [ready, live, metrics] = await Promise.all([
            get('/health/ready'),
            get('/health/live'),
            get('/metrics'),
            app === 'api' ? expectHonestAnswer(process.url, away) : undefined,
          ]);
          expect([ready.status, live.status, metrics.status]).toEqual([503, 200, 200]);
          for (const name of DEPENDENCIES)
            expect(ready.body.details[name].status).toBe(away.includes(name) ? 'down' : 'up');
        } finally {
          // The next outage uses the same process, also after a failure.
          for (const name of away) proxies[name].heal();
        }
        await eventually(
          'ready again',
          async () => (await request(process.url).get('/health/ready')).status === 200,
        );
      }),
  );
});

/** A process whose servers are all behind proxies. */
class ProxiedProcess {
  private constructor(
    readonly process: ProductProcess,
    readonly proxies: Record<Dependency, Proxy>,
    private readonly environment: TestEnvironment,
  ) {}

  static async start(app: string): Promise<ProxiedProcess> {
    const environment = await testEnvironment();
    const proxies = {
      postgres: await Proxy.before(environment.env.DATABASE_URL ?? ''),
      redis: await Proxy.before(required('REDIS_URL')),
      nats: await Proxy.before(required('NATS_URL')),
    };
    const process = await ProductProcess.start(app, {
      ...environment.env,
      DATABASE_URL: proxies.postgres.url,
      REDIS_URL: proxies.redis.url,
      NATS_URL: proxies.nats.url,
    });
    return new ProxiedProcess(process, proxies, environment);
  }

  async stop(): Promise<void> {
    await this.process.stop();
    await Promise.all(Object.values(this.proxies).map((proxy) => proxy.close()));
    await this.environment.release();
  }
}

/** An athlete's first request inserts a row, so it needs Postgres. It needs no NATS. Without Redis the throttle lets it through. */
async function expectHonestAnswer(url: string, away: readonly Dependency[]): Promise<void> {
  const stranger = await tokenFor(`stranger-${Math.random()}`);
  const answer = await within5s(() => request(url).get('/v1/me').set('authorization', `Bearer ${stranger}`));
  if (!away.includes('postgres')) return void expect(answer.status).toBe(200);
  expect(answer.status).toBe(503);
  expect(answer.body).toMatchObject({ error: 'postgres is unavailable', details: [] });
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
}

async function within5s<T>(send: () => PromiseLike<T>): Promise<T> {
  const startedAt = performance.now();
  const answer = await send();
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  return answer;
}

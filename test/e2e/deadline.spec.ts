import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import request from 'supertest';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { errorBody } from '../harness/error-body.js';
import { ProductProcess } from '../harness/process.js';

describe('a handler that waits', () => {
  let environment: TestEnvironment;
  let api: ProductProcess;
  const client = () => new pg.Client({ connectionString: environment.env.DATABASE_URL });
  beforeAll(async () => {
    environment = await testEnvironment();
    api = await ProductProcess.start('api', environment.env);
  });
  afterAll(async () => {
    await api?.stop();
    await environment?.release();
  });

  it('the api answers 503 with Retry-After within five seconds to 25 requests that wait for a lock in Postgres', async () => {
    const holder = client();
    await holder.connect();
    await holder.query('begin; lock table athlete');
    const startedAt = performance.now();
    // There are more requests than connections in the pool. The last requests wait first for a connection and then for the table.
    const answers = await Promise.all(
      Array.from({ length: 25 }, async (_, n) => {
        const token = await tokenFor(`waits-${n}`);
        return request(api.url).get('/v1/me').set('authorization', `Bearer ${token}`);
      }),
    );
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    for (const { status, body, headers } of answers) {
      expect(status).toBe(503);
      expect(body).toEqual(errorBody({ details: [] }));
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    await holder.query('rollback');
    await holder.end();
    await request(api.url).get('/health/ready').expect(200);
  });
});

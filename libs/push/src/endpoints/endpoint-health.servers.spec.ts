import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, NotFound } from '#platform';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { EndpointHealth } from './endpoint-health.js';

describe('the health of webhook endpoints', () => {
  let open: OpenDatabase;
  let sql: Database;
  let health: EndpointHealth;
  beforeAll(async () => {
    open = await openTestDatabase([], { statementTimeoutMs: 60_000 });
    sql = open.database;
    health = new EndpointHealth(sql);
  });
  afterAll(() => open.close());
  beforeEach(() => sql.query('truncate webhook_endpoint cascade'));

  async function newEndpoint(more = 'status = status'): Promise<string> {
    const id = randomUUID();
    await sql.query(
      `insert into webhook_endpoint (id, url, types, secret, key_version) values ($1, 'https://app.example', '{*}', 'sealed', 1)`,
      [id],
    );
    await sql.query(`update webhook_endpoint set ${more} where id = $1`, [id]);
    return id;
  }
  const deliver = (endpoint: string, status: string, count: number, delivered: string | null = null) =>
    sql.query(
      `insert into webhook_delivery (endpoint_id, change_id, type, status, delivered_at)
       select $1, gen_random_uuid(), 'test', $2, $3::timestamptz from generate_series(1, $4::int)`,
      [endpoint, status, delivered, count],
    );

  it('the health of endpoints lists endpoints oldest first with what waits, what was given up and the last success', async () => {
    const [first, second] = [await newEndpoint(), await newEndpoint()];
    await deliver(first, 'delivered', 3, '2025-10-02T08:00:00Z');
    await deliver(first, 'delivered', 1, '2025-10-02T07:00:00Z');
    await deliver(first, 'pending', 2);
    await deliver(first, 'failed', 1);
    const at = new Date('2025-10-02T08:00:00Z');
    expect(await health.list()).toMatchObject([
      { id: first, status: 'active', pending: 2, failed: 1, last_success_at: at, paused_until: null },
      { id: second, pending: 0, failed: 0, last_success_at: null, failures: 0 },
    ]);
  });

  it('the health of endpoints shows an open circuit until its pause is over, and leaves out deleted endpoints', async () => {
    await newEndpoint(`status = 'deleted'`);
    const failing = 'failures = 9, failing_since = now()';
    await newEndpoint(`${failing}, paused_until = now() + interval '1 minute'`);
    await newEndpoint(`${failing}, paused_until = now() - interval '1 minute'`);
    expect(await health.list()).toMatchObject([
      { failures: 9, failing_since: expect.any(Date), paused_until: expect.any(Date) },
      { failures: 9, paused_until: null },
    ]);
  });

  it('the health of endpoints finds one endpoint, and throws NotFound for an unknown or deleted one', async () => {
    const id = await newEndpoint();
    expect(await health.find(id)).toMatchObject({ id });
    await expect(health.find(randomUUID())).rejects.toThrow(NotFound);
    const deleted = await newEndpoint(`status = 'deleted'`);
    await expect(health.find(deleted)).rejects.toThrow(NotFound);
  });

  it('the health of endpoints counts up to 10,000 deliveries, and takes less than a second with 200,000 of an endpoint', async () => {
    const id = await newEndpoint();
    await deliver(id, 'pending', 150_000);
    await deliver(id, 'failed', 50_000);
    await sql.query('vacuum analyze webhook_delivery');
    const beganAtMs = performance.now();
    const [endpoint] = await health.list();
    expect(performance.now() - beganAtMs).toBeLessThan(1_000);
    expect(endpoint).toMatchObject({ pending: 10_000, failed: 10_000 });
  }, 60_000);
});

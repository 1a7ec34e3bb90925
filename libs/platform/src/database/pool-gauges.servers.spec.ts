import { expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { DataSource } from 'typeorm';
import { required } from '../../../../test/harness/servers.js';
import { dataSourceOptions } from './data-source-options.js';
import { observePool } from './pool-gauges.js';

it('the metrics of a pool show its connections in use and the statements that wait for one', async () => {
  const limits = { applicationName: 'test', poolSize: 1, statementTimeoutMs: 10_000 };
  const source = await new DataSource(
    dataSourceOptions(required('DATABASE_URL'), limits, () => undefined),
  ).initialize();
  observePool('test', limits.poolSize, source);
  const text = () => register.metrics();
  try {
    const transaction = source.createQueryRunner();
    await transaction.startTransaction();
    const waiting = source.query('select 1');
    expect(await text()).toContain('database_pool_connections{pool="test",state="busy"} 1');
    expect(await text()).toContain('database_pool_waiting{pool="test"} 1');
    expect(await text()).toContain('database_pool_size{pool="test"} 1');
    await transaction.rollbackTransaction();
    await transaction.release();
    await waiting;
    expect(await text()).toContain('database_pool_connections{pool="test",state="busy"} 0');
    expect(await text()).toContain('database_pool_connections{pool="test",state="idle"} 1');
    expect(await text()).toContain('database_pool_waiting{pool="test"} 0');
  } finally {
    await source.destroy();
  }
});

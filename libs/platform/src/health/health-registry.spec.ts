import { expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { HealthRegistry } from './health-registry.js';

it('readiness_changes_total begins at 0 with the registration, and counts both directions but not the first result', async () => {
  const registry = new HealthRegistry();
  registry.register('cellar', () => undefined);
  const valueOf = async (name: string) =>
    /^\w+\{check="cellar"\} (\d+)$/m.exec(await register.getSingleMetricAsString(name))?.[1];
  expect([await valueOf('readiness_changes_total'), await valueOf('readiness_up')]).toEqual(['0', undefined]);
  for (const isUp of [false, false, true]) registry.note('cellar', isUp);
  expect([await valueOf('readiness_changes_total'), await valueOf('readiness_up')]).toEqual(['1', '1']);
  registry.note('cellar', false);
  expect([await valueOf('readiness_changes_total'), await valueOf('readiness_up')]).toEqual(['2', '0']);
});

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { ProductProcess } from '../harness/process.js';

describe('docs/metrics.md', () => {
  let environment: TestEnvironment;
  let all: ProductProcess;
  beforeAll(async () => {
    environment = await testEnvironment();
    all = await ProductProcess.start('all', environment.env);
  });
  afterAll(async () => {
    await all.stop();
    await environment.release();
  });

  it('lists exactly the metrics that the processes have', async () => {
    const { text } = await request(all.url).get('/metrics').expect(200);
    const exposed = [...text.matchAll(/^# TYPE (\S+) \S+$/gm)].map(([, name]) => name ?? '');
    const ours = exposed.filter((name) => !/^(process|nodejs)_/.test(name)).sort();
    const documented = [...readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| `(\w+)/gm)].map(
      ([, name]) => name ?? '',
    );
    expect(documented.filter((name) => !/^(process|nodejs)_/.test(name)).sort()).toEqual(ours);
  });
});

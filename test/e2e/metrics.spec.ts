import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { ProductProcess } from '../harness/process.js';

describe('the metrics and the version of a process', () => {
  let environment: TestEnvironment;
  let all: ProductProcess;
  beforeAll(async () => {
    environment = await testEnvironment();
    all = await ProductProcess.start('all', environment.env);
  });
  afterAll(async () => {
    await all?.stop();
    await environment?.release();
  });

  it('/version and pacekeeper_build_info name the running release, without a token', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const { body } = await request(all.url).get('/version').expect(200);
    expect(body).toEqual({
      version,
      commit: expect.stringMatching(/^([0-9a-f]{7,40}|unknown)$/),
      started_at: expect.any(String),
    });
    expect(Date.parse((body as { started_at: string }).started_at)).toBeLessThanOrEqual(Date.now());
    const { text } = await request(all.url).get('/metrics').expect(200);
    expect(text).toContain(`pacekeeper_build_info{version="${version}",commit="`);
  });

  it('docs/metrics.md lists exactly the metrics that a process exposes', async () => {
    const { text } = await request(all.url).get('/metrics').expect(200);
    const exposed = [...text.matchAll(/^# TYPE (\S+) \S+$/gm)].map(([, name]) => name ?? '');
    const ours = exposed.filter((name) => !/^(process|nodejs)_/.test(name)).sort();
    const documented = [...readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| `(\w+)/gm)].map(
      ([, name]) => name ?? '',
    );
    expect(documented.filter((name) => !/^(process|nodejs)_/.test(name)).sort()).toEqual(ours);
  });
});

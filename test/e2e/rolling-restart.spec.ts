import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { rollingRestart } from '../harness/rolling-restart.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const REQUESTS_A_SECOND = 200;

describe('a rolling restart of all processes', () => {
  let environment: TestEnvironment;
  beforeAll(async () => {
    environment = await testEnvironment();
  });
  afterAll(() => environment?.release());

  it(`a rolling restart of apis and workers fails no request of ${REQUESTS_A_SECOND} a second over open connections, and loses no night`, async () => {
    const { env } = environment;
    const result = await rollingRestart({ env, apis: 2, workers: 2, perSecond: REQUESTS_A_SECOND });
    expect(result.failures).toEqual([]);
    expect(result.late).toBe(0);
    expect(result.exitCodes).toEqual([0, 0, 0, 0]);
    expect(result.nightsStored).toBe(result.nightsAcknowledged);
    // The replaced replicas answered requests until they were not ready any more.
    for (const count of result.answered) expect(count).toBeGreaterThan(50);
  });
});

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { ProductProcess } from '../harness/process.js';

/** A class of each kind that another lib calls without knowing it. */
const REGISTERED = [
  ['api', 'connection listeners', 'apps/api/src/activities/import-on-connect', 'ImportOnConnect'],
  ['worker', 'listeners to imports', 'libs/backfill/src/backfill', 'Backfill'],
  ['worker', 'listeners to uploads', 'libs/streams/src/fetch/stream-attempts', 'StreamAttempts'],
  ['worker', 'handlers of webhook events', 'libs/sleep/src/native/sleep-events', 'SleepEvents'],
  ['worker', 'processors', 'libs/run-shape/src/processing/run-shape-processor', 'RunShapeProcessor'],
  ['worker', 'sources of new activities', 'libs/streams/src/lifecycle/settled-streams', 'SettledStreams'],
  ['worker', 'listeners to runs', 'libs/write-back/src/write-back-store', 'PlannedWriteBacks'],
  ['worker', 'records of an account', 'libs/sleep/src/records/sleep-remains', 'SleepRemains'],
] as const;

describe('a process with a listener that cannot start', () => {
  let environment: TestEnvironment;
  beforeAll(async () => (environment = await testEnvironment()));
  afterAll(() => environment?.release());

  async function refusal(app: string, query: Record<string, string>): Promise<string> {
    const broken = pathToFileURL(resolve('test/harness/broken-listener.mjs'));
    broken.search = new URLSearchParams(query).toString();
    const started = ProductProcess.spawn(app, {
      ...environment.env,
      NODE_OPTIONS: `--import ${broken.href}`,
    });
    // A process that starts although it must not would run forever.
    void started
      .line(({ msg }) => msg === 'ready')
      .then(
        () => started.signal('SIGTERM'),
        () => undefined,
      );
    expect(await started.exited()).toBe(1);
    return started.stderr;
  }

  it.each(REGISTERED)(
    'exits with 1 and a sentence: the %s lacks what one of its %s needs (%s, %s)',
    async (app, _, file, name) => {
      const sentence = new RegExp(`^${app} cannot start: .*can't resolve dependencies of the ${name} `);
      expect(await refusal(app, { file, name, fails: 'made' })).toMatch(sentence);
    },
  );

  it.each(REGISTERED.slice(0, 4))(
    'exits with 1 and a sentence: in the %s, one of the %s throws while it starts (%s, %s)',
    async (app, _, file, name) => {
      const sentence = new RegExp(`^${app} cannot start: Error: This listener cannot start\\.`);
      expect(await refusal(app, { file, name, fails: 'started' })).toMatch(sentence);
    },
  );
});

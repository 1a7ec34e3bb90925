import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Global, Injectable, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { register } from 'prom-client';
import { CONFIG, Database, LOGGER, Sweeps, SweepsModule, TIME_SCALE, timeScale } from '#platform';
import { newAthlete } from '../../../test/harness/athletes.js';
import { eventually } from '../../../test/harness/eventually.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { requestsOf, jobOf, newActivity, passTime, ScriptedProcessor, silent } from './processing.harness.js';
import { Jobs, ProcessingBindings, ProcessingModule, ProcessingWorkModule, Runs } from './index.js';

@Injectable()
class AProcessor extends ScriptedProcessor {}

@Module({ providers: [AProcessor] })
class ProcessorModule {
  constructor(bindings: ProcessingBindings, processor: AProcessor) {
    bindings.processor.register(processor);
  }
}

@Module({ providers: [AProcessor] })
class SecondProcessorModule {
  constructor(bindings: ProcessingBindings, processor: AProcessor) {
    bindings.processor.register(processor);
  }
}

describe('ProcessingModule', () => {
  let open: OpenDatabase;
  beforeAll(async () => {
    open = await openTestDatabase();
  });
  afterAll(() => open.close());

  const surroundings = () => {
    const providers = [
      { provide: Database, useValue: open.database },
      {
        provide: CONFIG,
        useValue: { database: { url: open.url }, jobs: { concurrency: 4, deadlineSeconds: 120 } },
      },
      { provide: LOGGER, useValue: silent },
      { provide: TIME_SCALE, useValue: timeScale(900) },
    ];
    @Global()
    @Module({ providers, exports: providers.map(({ provide }) => provide) })
    class Surroundings {}
    return Surroundings;
  };
  /** Starts a process with these modules. */
  const start = (...imports: Type[]) => {
    class Root {}
    const root = { module: Root, imports: [surroundings(), ...imports] };
    return NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
  };

  it('a job enqueued by one process is taken back from a dead worker, run by another process and counted', async () => {
    const requesting = await start(ProcessingModule);
    const athleteId = await newAthlete(open.database);
    const died = await newActivity(open.database, athleteId);
    const { automatic } = requestsOf(requesting.get(Jobs), athleteId);
    await automatic(died);
    await new Runs(open.database).claim('a dead worker', 1, 5_000);
    await passTime(open.database, '6 seconds');

    const working = await start(SweepsModule, ProcessingWorkModule, ProcessorModule);
    expect(working.get(Sweeps)).toBeDefined();
    const done = async () => (await jobOf(open.database, died)).status === 'succeeded';
    await eventually('the job has succeeded', done);
    const metrics = await register.getSingleMetricAsString('runtime_jobs');
    expect(metrics).toContain('runtime_jobs{status="succeeded"} 1');
    expect(metrics).toContain('runtime_jobs{status="queued"} 0');
    await working.close();
    await requesting.close();
  });

  it('a worker without a processor does not start, and says so', async () => {
    const worker = start(SweepsModule, ProcessingWorkModule);
    await expect(worker).rejects.toThrow('No processor of activities is registered');
  });

  it('a worker with two processors does not start, and says so', async () => {
    const worker = start(SweepsModule, ProcessingWorkModule, ProcessorModule, SecondProcessorModule);
    await expect(worker).rejects.toThrow('A second processor of activities is registered');
  });
});

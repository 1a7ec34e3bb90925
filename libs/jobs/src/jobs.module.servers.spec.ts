import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Global, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { register } from 'prom-client';
import { CONFIG, Database, LOGGER, Sweeps, SweepsModule, TIME_SCALE, timeScale } from '#platform';
import { newAthlete } from '../../../test/harness/athletes.js';
import { eventually } from '../../../test/harness/eventually.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { asker, jobOf, newActivity, passTime, ScriptedProcessor, silent } from './jobs.harness.js';
import { Jobs, JobsModule, Runs } from './index.js';

@Injectable()
class AProcessor extends ScriptedProcessor {}

@Module({ providers: [AProcessor], exports: [AProcessor] })
class ProcessorModule {}

describe('the jobs module', () => {
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

  it('asks in one process, works in another, takes back what expired and counts', async () => {
    const asking = await Test.createTestingModule({
      imports: [surroundings(), JobsModule.asking()],
    }).compile();
    const working = await Test.createTestingModule({
      imports: [surroundings(), SweepsModule, JobsModule.working(AProcessor, ProcessorModule)],
    }).compile();
    const athleteId = await newAthlete(open.database);
    const died = await newActivity(open.database, athleteId);
    const { automatic } = asker(asking.get(Jobs), athleteId);
    await automatic(died);
    await new Runs(open.database).claim('a dead worker', 1, 5_000);
    await passTime(open.database, '6 seconds');

    await working.init();
    expect(working.get(Sweeps)).toBeDefined();
    const done = async () => (await jobOf(open.database, died)).status === 'succeeded';
    await eventually('what expired is done again', done);
    const metrics = await register.getSingleMetricAsString('runtime_jobs');
    expect(metrics).toContain('runtime_jobs{status="succeeded"} 1');
    expect(metrics).toContain('runtime_jobs{status="queued"} 0');
    await working.close();
    await asking.close();
  });
});

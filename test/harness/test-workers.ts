import {
  createLogger,
  HealthRegistry,
  type Outcome,
  type TimeScale,
  timeScale,
  type Work,
  type Worker,
  Workers,
} from '#platform';

/** Workers that log nothing, for features built without Nest. */
class TestWorkers extends Workers {
  private readonly made: Array<Pick<Worker<unknown, Outcome>, 'drain'>> = [];

  override of<Claim, Result extends Outcome>(work: Work<Claim, Result>): Worker<Claim, Result> {
    const worker = super.of(work);
    this.made.push(worker);
    return worker;
  }

  /** Works all rows that are due, as `Worker.drain` does. */
  async drain(): Promise<void> {
    for (const worker of this.made) await worker.drain();
  }
}

export function testWorkers(scale: TimeScale = timeScale(1)): TestWorkers {
  return new TestWorkers(new HealthRegistry(), scale, createLogger({ level: 'silent', process: 'test' }));
}

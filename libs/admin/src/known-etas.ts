import { Inject, Injectable } from '@nestjs/common';
import { BackfillForecast } from '#backfill';
import { LOGGER, type Logger, OneAtATime, TIME_SCALE, type TimeScale } from '#platform';

type Etas = ReadonlyMap<string, Date | null>;

interface Known {
  readonly etas: Etas;
  readonly renewedAtMs: number;
  readonly uselessAtMs: number;
}

// The forecast reads the counts of all athletes, some 0.2 s of work for 100,000 who have streams left. Within 15 s its times change little.
const KNOWN_FOR_MS = 15_000;
// A forecast that took 0.4 s is known for 40 s, so that forecasts cost at most a hundredth of a core.
const KNOWN_PER_MS = 100;

/**
 * Keeps the last forecast of when each athlete's streams will be stored. One forecast of this process serves all operators. It is renewed after
 * 15 seconds, or later if a forecast takes long. During the renewal readers get the last forecast, which may then be twice as old.
 */
@Injectable()
export class KnownEtas {
  private known: Known | undefined;
  private readonly reading = new OneAtATime<Etas>();

  constructor(
    private readonly forecast: BackfillForecast,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Maps each athlete with missing streams to a time, or to null if there is no estimate. */
  async read(): Promise<Etas> {
    const { known } = this;
    const nowMs = performance.now();
    if (known && nowMs < known.renewedAtMs) return known.etas;
    const renewed = this.reading.run('etas', () => this.renew());
    if (!known || nowMs >= known.uselessAtMs) return renewed;
    renewed.catch((err: unknown) =>
      this.logger.debug({ err }, 'the forecast of backfills is not renewed yet'),
    );
    return known.etas;
  }

  private async renew(): Promise<Etas> {
    const startedAtMs = performance.now();
    const etas = await this.forecast.etas();
    const nowMs = performance.now();
    const forMs = Math.max(this.scale.sweep(KNOWN_FOR_MS), KNOWN_PER_MS * (nowMs - startedAtMs));
    this.known = { etas, renewedAtMs: nowMs + forMs, uselessAtMs: nowMs + 2 * forMs };
    return etas;
  }
}

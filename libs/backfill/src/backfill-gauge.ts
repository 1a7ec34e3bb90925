import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Clock, LOGGER, type Logger } from '#platform';
import { BackfillForecast } from './backfill-forecast.js';

// A forecast counts rows; scrapers ask more often than that is worth.
const KNOWN_FOR_MS = 60_000;

let latest: () => Promise<number | undefined> = () => Promise.resolve(undefined);

new Gauge({
  name: 'backfill_eta_seconds',
  help: 'Until all streams that can be fetched are here; left out where nobody can say',
  async collect() {
    const seconds = await latest();
    if (seconds === undefined) this.remove();
    else this.set(seconds);
  },
});

/** What the gauge shows, forecast by a worker when it is scraped. */
@Injectable()
export class BackfillGauge implements OnApplicationBootstrap {
  private known: { readonly untilMs: number; readonly seconds: number | undefined } | undefined;

  constructor(
    private readonly forecast: BackfillForecast,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    latest = () => this.seconds();
  }

  private async seconds(): Promise<number | undefined> {
    if (this.known && performance.now() < this.known.untilMs) return this.known.seconds;
    try {
      const seconds = secondsUntilAll(await this.forecast.etas(), this.clock.nowMs());
      this.known = { seconds, untilMs: performance.now() + KNOWN_FOR_MS };
      return seconds;
    } catch (err) {
      this.logger.warn({ err }, 'backfill not forecast');
      return undefined;
    }
  }
}

function secondsUntilAll(etas: ReadonlyMap<string, Date | null>, nowMs: number): number | undefined {
  let lastMs = nowMs;
  for (const moment of etas.values()) {
    if (!moment) return undefined;
    lastMs = Math.max(lastMs, moment.getTime());
  }
  return (lastMs - nowMs) / 1_000;
}

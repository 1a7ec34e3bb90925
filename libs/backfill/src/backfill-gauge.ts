import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Clock, LOGGER, type Logger } from '#platform';
import { BackfillForecast } from './backfill-forecast.js';

// A forecast counts rows, which costs too much for every scrape.
const KNOWN_FOR_MS = 60_000;

let latest: () => Promise<number | undefined> = () => Promise.resolve(undefined);

new Gauge({
  name: 'backfill_eta_seconds',
  help: 'Time until all streams that can be fetched are stored; absent while unknown',
  async collect() {
    const seconds = await latest();
    if (seconds === undefined) this.remove();
    else this.set(seconds);
  },
});

/** Computes `backfill_eta_seconds` when a worker is scraped, at most once a minute. */
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
      this.logger.warn({ err }, 'backfill forecast failed');
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

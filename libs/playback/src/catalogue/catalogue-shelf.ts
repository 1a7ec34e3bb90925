import { type Clock } from '#platform';
import { type Broker, type Catalogue, type Series } from '../broker/broker.js';

const FRESH_MS = 60_000;
const STALE_MS = 24 * 60 * 60_000;
const LEAVE_ALONE_MS = 5_000;

interface Kept {
  readonly series: readonly Series[];
  readonly atMs: number;
}

/**
 * The broker's catalogue, asked for once a minute however many browse. An older one is shown while a new one is fetched, and for a day
 * where the broker is away: it is what people choose from, and what they choose is asked for anew.
 */
export class CatalogueShelf {
  private kept: Kept | undefined;
  private reading: Promise<Catalogue> | undefined;
  private failedAtMs = -Infinity;

  constructor(
    private readonly broker: Broker,
    private readonly clock: Clock,
  ) {}

  async read(): Promise<Catalogue> {
    const { kept } = this;
    const ageMs = this.clock.nowMs() - (kept?.atMs ?? -Infinity);
    if (!kept || ageMs >= STALE_MS) return this.fetch();
    if (ageMs >= FRESH_MS && !this.hasJustFailed()) void this.fetch();
    return { kind: 'catalogue', series: kept.series };
  }

  /** One call at a time, whoever asks. It belongs to nobody, so nobody's leaving ends it. */
  private fetch(): Promise<Catalogue> {
    this.reading ??= this.broker
      .catalogue()
      .then((catalogue) => this.keep(catalogue))
      .finally(() => (this.reading = undefined));
    return this.reading;
  }

  private keep(catalogue: Catalogue): Catalogue {
    const atMs = this.clock.nowMs();
    if (catalogue.kind === 'refused') this.failedAtMs = atMs;
    else this.kept = { series: catalogue.series, atMs };
    return catalogue;
  }

  private hasJustFailed(): boolean {
    return this.clock.nowMs() - this.failedAtMs < LEAVE_ALONE_MS;
  }
}

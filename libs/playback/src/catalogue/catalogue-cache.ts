import { type Broker, type Catalogue, type BrokerRefusal, type Series } from '../broker/broker.js';

const FRESH_MS = 60_000;
const STALE_MS = 24 * 60 * 60_000;
const RETRY_AFTER_MS = 5_000;

interface CachedCatalogue {
  readonly series: readonly Series[];
  readonly episodes: ReadonlySet<string>;
  readonly atMs: number;
}

/**
 * Caches the broker's catalogue in this process, for any number of viewers. The broker gets at most one call a minute, and after a
 * failure at most one call every 5 s. Without a catalogue each reader calls the broker or joins the call under way. A catalogue that
 * is older than a minute and younger than a day is returned while a new catalogue is fetched. So the catalogue may list a removed
 * video. Resolving an episode always calls the broker.
 */
export class CatalogueCache {
  private cached: CachedCatalogue | undefined;
  private fetching: Promise<Catalogue> | undefined;
  private failedAtMs = -Infinity;

  constructor(
    private readonly broker: Broker,
    /** A clock that never steps: it only measures ages. */
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  async read(): Promise<Catalogue> {
    const { cached } = this;
    const ageMs = this.nowMs() - (cached?.atMs ?? -Infinity);
    if (!cached || ageMs >= STALE_MS) return this.fetch();
    if (ageMs >= FRESH_MS && !this.hasJustFailed()) void this.fetch();
    return { kind: 'catalogue', series: cached.series };
  }

  /**
   * True if the cached catalogue has the episode. An unknown id causes no call, since clients can make up ids. So an episode that
   * the broker has just added is found about a minute later.
   */
  async hasEpisode(id: string): Promise<boolean | BrokerRefusal> {
    const catalogue = await this.read();
    if (catalogue.kind === 'refused') return catalogue;
    return this.cached?.episodes.has(id) ?? false;
  }

  /** All readers share one call. The call takes no signal, so it goes on if a reader leaves. */
  private fetch(): Promise<Catalogue> {
    this.fetching ??= this.broker
      .catalogue()
      .then((catalogue) => this.store(catalogue))
      .finally(() => (this.fetching = undefined));
    return this.fetching;
  }

  private store(catalogue: Catalogue): Catalogue {
    const atMs = this.nowMs();
    if (catalogue.kind === 'refused') this.failedAtMs = atMs;
    else this.cached = { series: catalogue.series, episodes: idsOf(catalogue.series), atMs };
    return catalogue;
  }

  private hasJustFailed(): boolean {
    return this.nowMs() - this.failedAtMs < RETRY_AFTER_MS;
  }
}

function idsOf(series: readonly Series[]): ReadonlySet<string> {
  return new Set(series.flatMap(({ episodes }) => episodes.map(({ id }) => id)));
}

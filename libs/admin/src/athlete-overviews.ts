import { Injectable } from '@nestjs/common';
import { Imports, type ImportView } from '#activities';
import { AthleteSearch, type FoundAthlete } from '#connections';
import { InvalidInput } from '#platform';
import { type StreamCountByStatus, StreamCounts } from '#streams';
import { KnownEtas } from './known-etas.js';

interface BackfillState extends StreamCountByStatus {
  /** Null if the end is unknown, or if nothing is left to fetch. */
  readonly eta: Date | null;
}

interface AthleteOverview extends FoundAthlete {
  readonly activities: number;
  /** Null without activities. */
  readonly backfill: BackfillState | null;
  /** The import that is not finished, or else the newest one. */
  readonly import: ImportView | null;
}

interface AthleteOverviewPage {
  readonly items: readonly AthleteOverview[];
  readonly next_cursor: string | null;
}

interface AthletesQuery {
  readonly q?: string;
  /** Not together with `q`. */
  readonly connection?: 'needs_reauth';
  readonly cursor?: string;
  readonly limit: number;
}

/** Athletes with their connections, imports and backfills, for operators. The time of a page does not grow with the number of athletes. */
@Injectable()
export class AthleteOverviews {
  constructor(
    private readonly athletes: AthleteSearch,
    private readonly streams: StreamCounts,
    private readonly imports: Imports,
    private readonly etas: KnownEtas,
  ) {}

  /** Newest first; with `q`, the athletes that match it, in the order of their subjects. Throws InvalidInput for both filters. */
  async list({ q, connection, cursor, limit }: AthletesQuery): Promise<AthleteOverviewPage> {
    if (q !== undefined && connection) throw new InvalidInput(['connection: cannot be sent together with q']);
    const { items, next_cursor } = await (connection
      ? this.athletes.toReconnect(cursor, limit)
      : q === undefined
        ? this.athletes.newest(cursor, limit)
        : this.athletes.find(q, cursor, limit));
    return { items: await this.withWork(items), next_cursor };
  }

  /** Throws NotFound. */
  async show(id: string): Promise<AthleteOverview> {
    const [overview] = await this.withWork([await this.athletes.show(id)]);
    return overview as AthleteOverview;
  }

  private async withWork(athletes: readonly FoundAthlete[]): Promise<AthleteOverview[]> {
    const ids = athletes.map(({ id }) => id);
    const [counts, imports] = await Promise.all([this.streams.ofAthletes(ids), this.imports.latest(ids)]);
    const isFetching = [...counts.values()].some(isUnfinished);
    const etas = isFetching ? await this.etas.read() : undefined;
    return athletes.map((athlete) => {
      const count = counts.get(athlete.id);
      const activities = count ? Object.values(count).reduce((sum, each) => sum + each, 0) : 0;
      return {
        ...athlete,
        activities,
        backfill: count && activities > 0 ? { ...count, eta: etas?.get(athlete.id) ?? null } : null,
        import: imports.get(athlete.id) ?? null,
      };
    });
  }
}

const isUnfinished = ({ pending, fetching, failed, deferred }: StreamCountByStatus) =>
  pending + fetching + failed + deferred > 0;

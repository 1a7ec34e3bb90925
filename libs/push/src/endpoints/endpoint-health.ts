import { type Database, loadSql, NotFound } from '#platform';
import { type EndpointView } from './webhook-endpoints.js';

const listHealth = loadSql(import.meta.url, './sql/list-health.sql');

const MOST_COUNTED = 10_000;
const MOST_LOOKED_AT = 1_000;

/** An endpoint with the state of its deliveries. Counts stop at 10,000. */
export interface EndpointHealthView extends EndpointView {
  readonly pending: number;
  readonly failed: number;
  /** Null if none of the newest 1,000 deliveries was answered with success. */
  readonly last_success_at: Date | null;
  /** Failed attempts in a row. */
  readonly failures: number;
  readonly failing_since: Date | null;
  /** The circuit is open: no delivery is attempted before. */
  readonly paused_until: Date | null;
}

/** The endpoints as operators see them, with the health of their deliveries. There are 50 endpoints at most. */
export class EndpointHealth {
  constructor(private readonly database: Database) {}

  list(): Promise<readonly EndpointHealthView[]> {
    return this.read(null);
  }

  async find(id: string): Promise<EndpointHealthView> {
    const [endpoint] = await this.read(id);
    if (!endpoint) throw new NotFound('There is no such endpoint');
    return endpoint;
  }

  private async read(id: string | null): Promise<readonly EndpointHealthView[]> {
    return (await this.database.query<EndpointHealthView>(listHealth, [id, MOST_COUNTED, MOST_LOOKED_AT]))
      .rows;
  }
}

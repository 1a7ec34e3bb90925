import { randomUUID } from 'node:crypto';
import { endpointPlace, type Vault } from '#connections';
import { type Database, InvalidInput, NotFound, type TimeScale } from '#platform';
import { urlProblem } from './endpoint-url.js';
import { newEndpointSecret } from './signature.js';

const MOST_ENDPOINTS = 50;
const BOTH_SIGN_MS = 86_400_000;
const VIEW = 'id, url, types, description, status, disabled_reason, created_at';
export const ENDPOINT_STATUSES = ['active', 'disabled'] as const;

export interface EndpointView {
  readonly id: string;
  readonly url: string;
  readonly types: readonly string[];
  readonly description: string | null;
  readonly status: (typeof ENDPOINT_STATUSES)[number];
  readonly disabled_reason: string | null;
  readonly created_at: Date;
}

interface NewEndpoint {
  readonly url: string;
  readonly types: readonly string[];
  readonly description?: string | null;
}

type EndpointChange = Partial<NewEndpoint> & { readonly status?: EndpointView['status'] };

/** The endpoints of the app. Secrets are stored sealed and are returned only by `create` and `rotateSecret`. */
export class WebhookEndpoints {
  constructor(
    private readonly database: Database,
    private readonly vault: Vault,
    private readonly scale: TimeScale,
    private readonly config: { readonly allowPrivate: boolean },
  ) {}

  async create({
    url,
    types,
    description,
  }: NewEndpoint): Promise<EndpointView & { readonly secret: string }> {
    this.requireAllowed(url);
    const id = randomUUID();
    const { secret, sealed } = this.newSecret(id);
    return this.database.transaction(async (sql) => {
      // Without the lock, two creations at the same time would both find 49 endpoints.
      await sql.query(`select pg_advisory_xact_lock(hashtext('webhook_endpoint'))`);
      const { count } = await sql.query(`select from webhook_endpoint where status <> 'deleted'`);
      if (count >= MOST_ENDPOINTS)
        throw new InvalidInput([`url: there are ${MOST_ENDPOINTS} endpoints already; delete one first`]);
      const { rows } = await sql.query<EndpointView>(
        `insert into webhook_endpoint (id, url, types, description, secret, key_version)
         values ($1, $2, $3, $4, $5, $6)
         returning ${VIEW}`,
        [id, url, types, description ?? null, sealed, this.vault.keyVersion],
      );
      return { ...(rows[0] as EndpointView), secret };
    });
  }

  /** Oldest first. All of them: there are 50 at most. */
  async list(): Promise<readonly EndpointView[]> {
    const { rows } = await this.database.query<EndpointView>(
      `select ${VIEW} from webhook_endpoint where status <> 'deleted' order by created_at, id`,
    );
    return rows;
  }

  async find(id: string): Promise<EndpointView> {
    const { rows } = await this.database.query<EndpointView>(
      `select ${VIEW} from webhook_endpoint where id = $1 and status <> 'deleted'`,
      [id],
    );
    return found(rows[0]);
  }

  /**
   * Changes the given fields. An endpoint that is set to `active` begins anew: its circuit is closed. In that case, and if the URL changes,
   * the fence is raised. A worker that holds the endpoint then begins no more attempts, and the results of those under way are not written, so
   * these deliveries are sent again. The lease stays, so the next attempts begin within 30 s, and never more than eight run at once.
   */
  async change(id: string, { url, types, description, status }: EndpointChange): Promise<EndpointView> {
    if (url !== undefined) this.requireAllowed(url);
    const { rows } = await this.database.query<EndpointView>(
      `update webhook_endpoint
       set url = coalesce($2, url),
           types = coalesce($3, types),
           description = case when $4 then $5 else description end,
           status = coalesce($6, status),
           disabled_reason = case when $6 = 'active' then null when $6 = 'disabled' then 'Disabled by request.' else disabled_reason end,
           failures = case when $6 = 'active' then 0 else failures end,
           failing_since = case when $6 = 'active' then null else failing_since end,
           paused_until = case when $6 = 'active' then null else paused_until end,
           fence = case when $6 = 'active' or $2 <> url then fence + 1 else fence end
       where id = $1 and status <> 'deleted'
       returning ${VIEW}`,
      [id, url ?? null, types ?? null, description !== undefined, description ?? null, status ?? null],
    );
    return found(rows[0]);
  }

  /** Nothing more is sent. A worker deletes the deliveries, and then the row. */
  async remove(id: string): Promise<void> {
    const { count } = await this.database.query(
      `update webhook_endpoint set status = 'deleted' where id = $1 and status <> 'deleted'`,
      [id],
    );
    if (count === 0) throw noEndpoint();
  }

  /** For a day, deliveries have the signatures of the new and of the old secret. An earlier old secret ends at once. */
  async rotateSecret(id: string): Promise<{ readonly secret: string; readonly previous_valid_until: Date }> {
    const { secret, sealed } = this.newSecret(id);
    const { rows } = await this.database.query<{ previous_valid_until: Date }>(
      `update webhook_endpoint
       set previous_secret = secret,
           previous_until = clock_timestamp() + $3 * interval '1 millisecond',
           secret = $2
       where id = $1 and status <> 'deleted'
       returning previous_until as previous_valid_until`,
      [id, sealed, this.scale.wait(BOTH_SIGN_MS)],
    );
    return { secret, ...found(rows[0]) };
  }

  private newSecret(id: string): { secret: string; sealed: string } {
    const secret = newEndpointSecret();
    return { secret, sealed: this.vault.seal(secret, endpointPlace(id)) };
  }

  private requireAllowed(url: string): void {
    const problem = urlProblem(url, this.config.allowPrivate);
    if (problem) throw new InvalidInput([`url: ${problem}`]);
  }
}

const noEndpoint = () => new NotFound('There is no such endpoint');

function found<T>(row: T | undefined): T {
  if (!row) throw noEndpoint();
  return row;
}

import { type Database, type Fenced, FencedRows, Gather, loadSql } from '#platform';
import { type Change, changeText } from '../change.js';
import { type Attempt } from './endpoint-caller.js';

const claimEndpoints = loadSql(import.meta.url, './sql/claim-endpoints.sql');
const dueDeliveries = loadSql(import.meta.url, './sql/due-deliveries.sql');
const writeAttempts = loadSql(import.meta.url, './sql/write-attempts.sql');
const dropDelivery = loadSql(import.meta.url, './sql/drop-delivery.sql');
const settleEndpoints = loadSql(import.meta.url, './sql/settle-endpoints.sql');

export interface EndpointClaim extends Fenced {
  readonly id: string;
  readonly url: string;
  /** Failed attempts in a row. */
  readonly failures: number;
  /** Sealed. */
  readonly secret: string;
  readonly previous_secret: string | null;
}

export interface DueDelivery {
  readonly id: string;
  readonly changeId: string;
  /** Earlier attempts. */
  readonly attempts: number;
  /** Unix seconds by the database's clock. */
  readonly signedAt: string;
  /** Undefined: the change was purged, or its athlete was deleted. */
  readonly body: string | undefined;
}

interface EndedAttempt {
  readonly claim: EndpointClaim;
  readonly delivery: DueDelivery;
  readonly attempt: Attempt;
  /** The pause before the next attempt. Undefined: there is none. */
  readonly retryMs: number | undefined;
}

export interface EndpointState {
  readonly failures: number;
  readonly hasSucceeded: boolean;
  readonly pauseMs: number;
  /** Disables the endpoint. */
  readonly reason?: string;
}

interface Wanted {
  readonly claim: EndpointClaim;
  readonly most: number;
  readonly without: readonly string[];
}

/** A delivery, with the columns of its change. */
interface DueRow extends Change {
  readonly endpoint_id: string;
  readonly delivery_id: string;
  readonly attempts: number;
  readonly signed_at: string;
  readonly has_change: boolean;
  readonly body: string | null;
}

interface Settled {
  readonly isOurs: boolean;
  /** Set if this write has disabled the endpoint. */
  readonly disabledReason?: string;
}

const one = { mostAtOnce: 1, turnEnd: 'poll' } as const;

/**
 * The due deliveries of all endpoints, for any number of workers. One worker at a time holds an endpoint. Claims, reads and writes of all
 * endpoints that this process holds share statements, so that their number does not grow with the number of endpoints. Not guaranteed: a
 * worker that dies after the endpoint has answered and before the write leaves the delivery to be sent again.
 */
export class DeliveryQueue {
  private readonly rows = new FencedRows('delivery', 'webhook_endpoint', 'id');
  private readonly claims = new Gather<number, EndpointClaim | undefined>(
    (leases) => this.claimSome(leases),
    one,
  );
  private readonly reads = new Gather<Wanted, readonly DueDelivery[]>((wanted) => this.readDue(wanted), one);
  private readonly writes = new Gather<EndedAttempt, boolean>((ended) => this.writeSome(ended), one);
  private readonly ends = new Gather<{ claim: EndpointClaim; state: EndpointState }, Settled>(
    (ended) => this.settleSome(ended),
    one,
  );

  /** `giveUpMs`: an endpoint that has failed for this long is disabled. */
  constructor(
    private readonly database: Database,
    private readonly giveUpMs: number,
  ) {}

  /** Claims an endpoint with a due delivery. Undefined if there is no unclaimed one. */
  claim(leaseMs: number): Promise<EndpointClaim | undefined> {
    return this.claims.submit(leaseMs);
  }

  renew(claim: EndpointClaim, leaseMs: number): Promise<boolean> {
    return this.rows.renew(this.database, claim.id, claim, leaseMs);
  }

  /** Up to `most` due deliveries of a claimed endpoint. None if the claim is over or the endpoint was disabled. */
  due(claim: EndpointClaim, most: number, without: readonly string[]): Promise<readonly DueDelivery[]> {
    return this.reads.submit({ claim, most, without });
  }

  /** False: nothing was written, because the claim is over or a deletion has deleted the delivery. */
  write(ended: EndedAttempt): Promise<boolean> {
    return this.writes.submit(ended);
  }

  /** Ends a delivery that has nothing to send. False: the claim is over. */
  async drop({ id: endpointId, fence }: EndpointClaim, { id }: DueDelivery): Promise<boolean> {
    return this.rows.accepted(await this.database.query(dropDelivery, [endpointId, fence, id]));
  }

  async settle(claim: EndpointClaim, state: EndpointState): Promise<Settled> {
    const settled = await this.ends.submit({ claim, state });
    this.rows.accepted({ count: Number(settled.isOurs) });
    return settled;
  }

  private async claimSome(leases: readonly number[]): Promise<ReadonlyArray<EndpointClaim | undefined>> {
    const { rows } = await this.database.query<EndpointClaim>(claimEndpoints, [leases.length, leases[0]]);
    return leases.map((_, index) => rows[index]);
  }

  private async readDue(wanted: readonly Wanted[]): Promise<ReadonlyArray<readonly DueDelivery[]>> {
    const { rows } = await this.database.query<DueRow>(dueDeliveries, [
      wanted.map(({ claim }) => claim.id),
      wanted.map(({ claim }) => claim.fence),
      wanted.map(({ most }) => most),
      wanted.flatMap(({ without }) => without),
    ]);
    const byEndpoint = new Map(wanted.map(({ claim }) => [claim.id, [] as DueDelivery[]]));
    for (const row of rows) byEndpoint.get(row.endpoint_id)?.push(dueDelivery(row));
    return wanted.map(({ claim }) => byEndpoint.get(claim.id) ?? []);
  }

  private async writeSome(ended: readonly EndedAttempt[]): Promise<readonly boolean[]> {
    const { rows } = await this.database.query<{ id: string; is_written: boolean }>(writeAttempts, [
      ended.map(({ claim }) => claim.id),
      ended.map(({ claim }) => claim.fence),
      ended.map(({ delivery }) => delivery.id),
      ended.map(({ attempt }) => attempt.isDelivered),
      ended.map(({ retryMs }) => retryMs ?? null),
      ended.map(({ attempt }) => attempt.status),
      ended.map(({ attempt }) => attempt.response),
      ended.map(({ attempt }) => attempt.error),
    ]);
    this.rows.accepted({ count: rows.length }, ended.length);
    const written = new Set(rows.flatMap(({ id, is_written }) => (is_written ? id : [])));
    return ended.map(({ delivery }) => written.has(delivery.id));
  }

  private async settleSome(
    ended: ReadonlyArray<{ claim: EndpointClaim; state: EndpointState }>,
  ): Promise<readonly Settled[]> {
    const { rows } = await this.database.query<{ id: string; reason: string | null }>(settleEndpoints, [
      ended.map(({ claim }) => claim.id),
      ended.map(({ claim }) => claim.fence),
      ended.map(({ state }) => state.failures),
      ended.map(({ state }) => state.hasSucceeded),
      ended.map(({ state }) => state.pauseMs),
      ended.map(({ state }) => state.reason ?? null),
      this.giveUpMs,
    ]);
    const settled = new Map(rows.map(({ id, reason }) => [id, reason]));
    return ended.map(({ claim }) => ({
      isOurs: settled.has(claim.id),
      disabledReason: settled.get(claim.id) ?? undefined,
    }));
  }
}

function dueDelivery(row: DueRow): DueDelivery {
  const { delivery_id, id, attempts, signed_at, has_change, body } = row;
  const text = body ?? (has_change ? changeText(row) : undefined);
  return { id: delivery_id, changeId: id, attempts, signedAt: signed_at, body: text };
}

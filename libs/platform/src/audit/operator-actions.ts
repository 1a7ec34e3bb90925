import { Injectable } from '@nestjs/common';
import { deletePast } from '../database/large-tables.js';
import { Database, type Sql } from '../database/database.js';
import { loadSql } from '../database/load-sql.js';

const purgeActions = loadSql(import.meta.url, './purge-actions.sql');

// The conditions are texts of this file, never of a request. Not prepared: with a plan for any actor, a rare actor would be searched for in
// the whole log.
const listActions = (conditions: readonly string[]) => `
  select id::text as id, at, actor, action, target, detail
  from operator_action
  where id < $1
    ${conditions.join(' ')}
  order by operator_action.id desc
  limit $2`;
/** The action of an operator's request on behalf of an athlete. */
export const ATHLETE_REQUEST = 'athlete.request';

// A request with another method changes something, so it is an action.
const IS_READ = `action = '${ATHLETE_REQUEST}' and detail ->> 'method' in ('GET', 'HEAD')`;
const OF_KIND = { action: `and not (${IS_READ})`, read: `and ${IS_READ}` } as const;

// Ids are counted from 1.
const NEWEST = Number.MAX_SAFE_INTEGER;

interface ActionsQuery {
  readonly actor?: string;
  readonly action?: string;
  /** `read`: an athlete's data was read for an operator. `action`: all else. */
  readonly kind?: keyof typeof OF_KIND;
  readonly cursor?: number;
  readonly limit: number;
}

interface RecordedAction {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

interface ActionPage {
  readonly items: readonly RecordedAction[];
  readonly next_cursor: string | null;
}

interface OperatorAction {
  /** The subject of the operator's token. */
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly detail?: object;
}

/** The audit trail of operators. Callers record an action before they carry it out, so that every action is recorded. */
@Injectable()
export class OperatorActions {
  constructor(private readonly database: Database) {}

  /** Pass `sql` to record the action in the transaction that carries it out. */
  async note(
    { actor, action, target, detail = {} }: OperatorAction,
    sql: Sql = this.database,
  ): Promise<void> {
    await sql.query('insert into operator_action (actor, action, target, detail) values ($1, $2, $3, $4)', [
      actor,
      action,
      target,
      JSON.stringify(detail),
    ]);
  }

  /** Newest first. `cursor` is the `next_cursor` of the page before. */
  async list({ actor, action, kind, cursor, limit }: ActionsQuery): Promise<ActionPage> {
    const values: unknown[] = [cursor ?? NEWEST, limit + 1];
    const conditions = Object.entries({ actor, action }).flatMap(([column, value]) =>
      value === undefined ? [] : [`and ${column} = $${values.push(value)}`],
    );
    if (kind) conditions.push(OF_KIND[kind]);
    const { rows } = await this.database.query<RecordedAction>(listActions(conditions), values);
    const items = rows.slice(0, limit);
    return { items, next_cursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
  }

  /** Deletes actions older than `keptMs` and returns how many. */
  purge(keptMs: number): Promise<number> {
    return deletePast(this.database, purgeActions, keptMs);
  }
}

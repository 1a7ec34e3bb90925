import { types } from 'node:util';
import { DependencyUnavailable } from '../errors/app-error.js';
import { ServerUnfit } from '../process/server-failure.js';
import { type Sql } from './database.js';
import { STANDBY } from './primary.js';

export const POOLER =
  'There is a connection pooler in front of Postgres that shares connections between transactions, or ignores settings: ' +
  'name Postgres itself in DATABASE_DIRECT_URL, or in DATABASE_URL';
// Behind a pooler no setting can be sent, so the role has to have it. Without a limit, a statement whose client has given up keeps its locks.
const UNLIMITED =
  'A pooler passes on no settings, so the role needs them: ' +
  "`alter role … set statement_timeout = '30s'` and `alter role … set idle_in_transaction_session_timeout = '10s'`; then restart the pooler";

/** Reads settings of the session. If a setting that we sent when connecting is missing, a pooler has dropped it. */
export const SESSION_FACTS = `select
  (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::int as timeout_ms,
  (extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000)::int as idle_ms,
  current_setting('transaction_read_only') = 'on' as read_only,
  pg_backend_pid() as backend`;

export interface SessionFacts {
  readonly timeout_ms: number;
  readonly idle_ms: number;
  readonly read_only: boolean;
  readonly backend: number;
}

export function requireOwnSession(facts: SessionFacts | undefined, statementTimeoutMs: number): void {
  if (facts?.read_only) throw new ServerUnfit(STANDBY);
  if (facts?.timeout_ms !== statementTimeoutMs) throw new ServerUnfit(POOLER);
}

/** Checks a connection through a pooler, which has only the settings of its role. */
export function requireLimits(facts: SessionFacts | undefined): void {
  if (facts?.read_only) throw new ServerUnfit(STANDBY);
  if (!facts?.timeout_ms || !facts.idle_ms) throw new ServerUnfit(UNLIMITED);
}

/** Readiness probe. It checks the settings again, because the address may lead to another server than at the start. */
export async function probePostgres(sql: Sql, requireFit: (facts?: SessionFacts) => void): Promise<void> {
  try {
    const { rows } = await sql.query<SessionFacts>(SESSION_FACTS);
    requireFit(rows[0]);
  } catch (error) {
    if (error instanceof DependencyUnavailable && error.cause instanceof ServerUnfit) throw error.cause;
    throw asPoolerFailure(error);
  }
}

/** The time in ms, by the clock of Postgres. */
export async function timeOfPostgres(sql: Sql): Promise<number> {
  const { rows } = await sql.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  return Number(rows[0]?.ms);
}

/** Turns PgBouncer's error for an unknown setting into ServerUnfit, and returns any other error unchanged. */
export function asPoolerFailure(error: unknown): unknown {
  const cause = error instanceof DependencyUnavailable ? error.cause : error;
  const isPooler = types.isNativeError(cause) && /unsupported startup parameter/i.test(cause.message);
  return isPooler ? new ServerUnfit(POOLER, { cause: error }) : error;
}

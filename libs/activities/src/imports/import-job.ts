import { type ImportCursor } from './import-cursor.js';

export const IMPORT_TYPES = ['full', 'incremental'] as const;
export type ImportType = (typeof IMPORT_TYPES)[number];
export type ImportStatus = 'queued' | 'started' | 'rate_limited' | 'completed' | 'failed' | 'cancelled';

export interface ImportJob {
  readonly id: string;
  readonly athlete_id: string;
  readonly type: ImportType;
  readonly status: ImportStatus;
  readonly since: Date | null;
  readonly sync_cursor: ImportCursor;
  readonly activities_total: number | null;
  readonly retry_after: Date | null;
  readonly error: string | null;
  /** Of `bigint`, so a string. */
  readonly turn: string;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
}

/** One worker's share of an import: the right to write for it until the lease ends or the next turn begins. */
export interface Turn {
  readonly id: string;
  readonly athlete_id: string;
  readonly type: ImportType;
  readonly since: Date | null;
  readonly sync_cursor: ImportCursor;
  readonly failures: number;
  readonly accidents: number;
  readonly turn: number;
  readonly generation: number;
  readonly created_at: Date;
}

export const isUnfinished = (status: ImportStatus): boolean =>
  status === 'queued' || status === 'started' || status === 'rate_limited';

import { type VendorId } from '#vendors';
import { type ImportCursor } from './import-cursor.js';

export const IMPORT_TYPES = ['full', 'incremental'] as const;
export type ImportType = (typeof IMPORT_TYPES)[number];
export const IMPORT_STATUSES = [
  'queued',
  'started',
  'rate_limited',
  'completed',
  'failed',
  'cancelled',
] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

export interface ImportJob {
  readonly id: string;
  readonly athlete_id: string;
  readonly provider: VendorId;
  readonly type: ImportType;
  readonly status: ImportStatus;
  readonly since: Date | null;
  readonly sync_cursor: ImportCursor;
  readonly activities_total: number | null;
  readonly retry_after: Date | null;
  readonly error: string | null;
  /** Each claim raises the fence, and so does a cancellation. The column is a bigint, so node-postgres returns a string. */
  readonly fence: string;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
}

/** One worker's claim of an import: the worker may write for the import until another claim or a cancellation raises the fence. */
export interface ImportClaim {
  readonly id: string;
  readonly athlete_id: string;
  readonly provider: VendorId;
  readonly type: ImportType;
  readonly since: Date | null;
  readonly sync_cursor: ImportCursor;
  readonly failures: number;
  readonly accidents: number;
  readonly fence: string;
  readonly generation: number;
  /** The scopes that the athlete granted; none without a connection. */
  readonly scopes: readonly string[];
  readonly created_at: Date;
}

export const isUnfinished = (status: ImportStatus): boolean =>
  status === 'queued' || status === 'started' || status === 'rate_limited';

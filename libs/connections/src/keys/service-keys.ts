import { hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import {
  AppError,
  cursorAt,
  Database,
  keysetOf,
  type KeyVerifier,
  loadSql,
  type Logger,
  LOGGER,
  NotFound,
  OperatorActions,
  SERVICE_KEY_PREFIX,
  type ServiceKey,
  Unauthenticated,
} from '#platform';
import { KnownKeys } from './known-keys.js';

const createKey = loadSql(import.meta.url, '../sql/create-key.sql');
const listKeys = loadSql(import.meta.url, '../sql/list-keys.sql');

export const KEY_SCOPES = ['read', 'write', 'ingest', 'events'] as const;

// Each process holds all keys in memory and loads them every few seconds.
const MOST_KEYS = 1_000;
const NOTED_EVERY_MS = 60_000;
const KEY = /^pk_[\w-]{43}$/;

/** As many keys are in use as a process may hold in memory. */
class TooManyKeys extends AppError {
  override readonly code = 'TOO_MANY_KEYS';
  override readonly kind = 'conflict';
  constructor() {
    super(`There are ${MOST_KEYS} service keys: revoke one first`);
  }
}

interface ServiceKeyView {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly created_at: string;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
}

interface NewKey {
  readonly name: string;
  readonly scopes: readonly string[];
  /** The subject of the operator's token, or the command. */
  readonly actor: string;
  /** Absent: a new one is made. */
  readonly key?: string;
}

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: string[];
  readonly created_at: Date;
  readonly revoked_at: Date | null;
  readonly last_used_at: Date | null;
  readonly place: string;
}

/**
 * The keys of the app's own backend: operators create, list and revoke them; every process verifies them (`KnownKeys` says how soon a
 * change is effective). A key is shown once and stored as a hash.
 */
@Injectable()
export class ServiceKeys implements KeyVerifier {
  private readonly known: KnownKeys<ServiceKey>;
  private readonly noted = new LRUCache<string, true>({ max: MOST_KEYS, ttl: NOTED_EVERY_MS });

  constructor(
    private readonly database: Database,
    private readonly actions: OperatorActions,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.known = new KnownKeys(() => this.load(), logger);
  }

  recall(key: string): ServiceKey | undefined {
    const known = this.known.recall(hashOf(key));
    if (known) this.noteUse(known);
    return known;
  }

  async verify(key: string): Promise<ServiceKey> {
    const found = KEY.test(key) ? await this.known.find(hashOf(key)) : undefined;
    if (!found) throw new Unauthenticated('The service key is unknown or revoked');
    this.noteUse(found);
    return found;
  }

  /** Returns the key, which is readable nowhere else. Throws TooManyKeys. */
  async create({
    name,
    scopes,
    actor,
    key = newKey(),
  }: NewKey): Promise<ServiceKey & { readonly key: string }> {
    return this.database.transaction(async (sql) => {
      const values = [name, scopes, Buffer.from(hashOf(key), 'hex'), MOST_KEYS];
      const { rows } = await sql.query<{ id: string }>(createKey, values);
      if (!rows[0]) throw new TooManyKeys();
      const { id } = rows[0];
      await this.actions.note({ actor, action: 'key.create', target: id, detail: { name, scopes } }, sql);
      return { id, name, scopes, key };
    });
  }

  /** Newest first, with those that are revoked. */
  async list(
    cursor: string | undefined,
    limit: number,
  ): Promise<{ readonly items: ServiceKeyView[]; readonly next_cursor: string | null }> {
    const after = cursor === undefined ? undefined : keysetOf(cursor);
    const values = [after?.place ?? null, after?.id ?? null, limit + 1];
    const { rows } = await this.database.query<KeyRow>(listKeys, values);
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return { items: items.map(viewOf), next_cursor: rows.length > limit && last ? cursorAt(last) : null };
  }

  /** A second revocation changes nothing. Throws NotFound. */
  async revoke(id: string, actor: string): Promise<void> {
    await this.database.transaction(async (sql) => {
      const { rows } = await sql.query<{ name: string; is_revoked: boolean }>(
        'select name, revoked_at is not null as is_revoked from service_key where id = $1 for update',
        [id],
      );
      if (!rows[0]) throw new NotFound('There is no such key');
      const { name, is_revoked: isRevoked } = rows[0];
      if (isRevoked) return;
      await this.actions.note({ actor, action: 'key.revoke', target: id, detail: { name } }, sql);
      await sql.query('update service_key set revoked_at = now() where id = $1', [id]);
    });
    this.known.forget();
  }

  /** The state of a key that may have been stored before. */
  async stateOf(key: string): Promise<'active' | 'revoked' | 'unknown'> {
    const { rows } = await this.database.query<{ is_revoked: boolean }>(
      'select revoked_at is not null as is_revoked from service_key where hash = $1',
      [Buffer.from(hashOf(key), 'hex')],
    );
    if (!rows[0]) return 'unknown';
    return rows[0].is_revoked ? 'revoked' : 'active';
  }

  private async load(): Promise<ReadonlyMap<string, ServiceKey>> {
    const { rows } = await this.database.query<ServiceKey & { hash: string }>(
      "select encode(hash, 'hex') as hash, id, name, scopes from service_key where revoked_at is null",
    );
    return new Map(rows.map(({ hash: stored, ...key }) => [stored, key]));
  }

  /** Writes the time at most once a minute in each process. The request does not wait for the write, and does not fail if the write fails. */
  private noteUse({ id }: ServiceKey): void {
    if (this.noted.get(id)) return;
    this.noted.set(id, true);
    this.database
      .query('update service_key set last_used_at = now() where id = $1', [id])
      .catch((err: unknown) => this.logger.warn({ err, key_id: id }, 'the last use of a key was not stored'));
  }
}

export function isWellFormedKey(text: string): boolean {
  return KEY.test(text);
}

function newKey(): string {
  return SERVICE_KEY_PREFIX + randomBytes(32).toString('base64url');
}

/** A key has 256 random bits. So one SHA-256 suffices, and its duration tells nothing about the stored hashes. */
function hashOf(key: string): string {
  return hash('sha256', key, 'hex');
}

function viewOf({ place: _place, ...row }: KeyRow): ServiceKeyView {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}

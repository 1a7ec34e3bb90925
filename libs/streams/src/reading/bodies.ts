import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { loadSql, OneAtATime, StandbyReads, withBytes } from '#platform';
import { cutName } from './cut.js';
import { type CutRequest, Cutter } from './cutter.js';

const findBody = withBytes(loadSql(import.meta.url, './sql/find-body.sql'));

const MOST_BYTES = 48 * 1024 * 1024;
// An entry costs this much in addition to its bytes: its key, and the rest of Node's buffer pool, which a small buffer keeps in memory.
const ENTRY_BYTES = 10_000;
// About as many bodies as the cache holds.
const MOST_READ_ONCE = 700;

interface StoredStreams {
  readonly athleteId: string;
  readonly activityId: string;
  readonly version: string;
}

/**
 * The gzipped answers by activity, version and cut, with a cache of 48 MB per process. A version never changes, so the cache
 * is never stale. This class does not know which version is current or who may read the streams: read the `Heads` first.
 */
@Injectable()
export class Bodies {
  private readonly cache = new LRUCache<string, Buffer>({
    maxSize: MOST_BYTES,
    sizeCalculation: (bytes) => bytes.length + ENTRY_BYTES,
  });

  /** Keys read once lately. A body is cached when it is read again, so that a walk through a whole history evicts nothing. */
  private readonly readOnce = new LRUCache<string, true>({ max: MOST_READ_ONCE });

  private readonly loading = new OneAtATime<Buffer | undefined>();

  constructor(
    private readonly reads: StandbyReads,
    private readonly cutter: Cutter,
  ) {}

  /** Undefined if the version has been replaced. */
  async find(stored: StoredStreams, request: CutRequest): Promise<Buffer | undefined> {
    const name = cutName(request.cut);
    if (!name) return this.whole(stored);
    const key = keyOf(stored, name);
    return this.cache.get(key) ?? this.cutter.run(request, () => this.makeCut(key, stored, request));
  }

  private async whole(stored: StoredStreams): Promise<Buffer | undefined> {
    const key = keyOf(stored, '');
    return this.cache.get(key) ?? this.loading.run(key, () => this.load(key, stored));
  }

  private cacheOnSecondRead(key: string, bytes: Buffer): void {
    if (this.readOnce.has(key)) this.cache.set(key, bytes);
    else this.readOnce.set(key, true);
  }

  private async makeCut(
    key: string,
    stored: StoredStreams,
    request: CutRequest,
  ): Promise<Buffer | undefined> {
    // The reader of an earlier turn may have made the same cut.
    const made = this.cache.get(key);
    if (made) return made;
    const whole = await this.whole(stored);
    if (!whole) return undefined;
    const { activityId, version } = stored;
    const bytes = await this.cutter.cut({ key: `${activityId} ${version}`, body: whole }, request);
    this.cacheOnSecondRead(key, bytes);
    return bytes;
  }

  private async load(
    key: string,
    { athleteId, activityId, version }: StoredStreams,
  ): Promise<Buffer | undefined> {
    const { rows } = await this.reads.versions<{ body: Buffer }>(findBody, [athleteId, activityId, version]);
    const [found] = rows;
    if (found) this.cacheOnSecondRead(key, found.body);
    return found?.body;
  }
}

/** The name is hashed so that all keys are equally long: a client may send a long list of channels. */
function keyOf({ activityId, version }: StoredStreams, name: string): string {
  const hash = name && createHash('sha1').update(name).digest('base64url');
  return `${activityId} ${version} ${hash}`;
}

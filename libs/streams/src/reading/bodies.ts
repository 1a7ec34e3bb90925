import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database, loadSql, OneAtATime } from '#platform';
import { narrow } from './answer.js';
import { type Cut, cutName } from './cut.js';

const findBody = loadSql(import.meta.url, './sql/find-body.sql');

const MOST_BYTES = 48 * 1024 * 1024;
// What an entry may take beside its bytes: its key, and the pool that a small buffer is a slice of.
const ENTRY_BYTES = 10_000;
// About as many as fit into memory.
const MOST_SEEN = 700;

/**
 * The gzipped answers by activity, version and cut; those that are read often stay in memory. A version never changes, so
 * nothing in here is ever wrong; which one is current, and whose it is, is for `Heads` to say.
 */
@Injectable()
export class Bodies {
  private readonly kept = new LRUCache<string, Buffer>({
    maxSize: MOST_BYTES,
    sizeCalculation: (bytes) => bytes.length + ENTRY_BYTES,
  });

  /** Read once, lately. Whoever goes through a whole history must not push out what others read again and again. */
  private readonly seen = new LRUCache<string, true>({ max: MOST_SEEN });

  private readonly making = new OneAtATime<Buffer | undefined>();

  constructor(private readonly database: Database) {}

  /** Nothing where that version has been replaced. */
  async find(activityId: string, version: string, cut: Cut): Promise<Buffer | undefined> {
    const name = cutName(cut);
    const key = keyOf(activityId, version, name);
    return (
      this.kept.get(key) ??
      this.making.run(key, () => this.make(key, activityId, version, name ? cut : undefined))
    );
  }

  private async make(
    key: string,
    activityId: string,
    version: string,
    cut: Cut | undefined,
  ): Promise<Buffer | undefined> {
    const bytes = cut ? await this.cutOut(activityId, version, cut) : await this.load(activityId, version);
    if (bytes) this.keepIfReadAgain(key, bytes);
    return bytes;
  }

  private keepIfReadAgain(key: string, bytes: Buffer): void {
    if (this.seen.has(key)) this.kept.set(key, bytes);
    else this.seen.set(key, true);
  }

  private async cutOut(activityId: string, version: string, cut: Cut): Promise<Buffer | undefined> {
    const whole = await this.find(activityId, version, {});
    return whole && narrow(whole, cut);
  }

  private async load(activityId: string, version: string): Promise<Buffer | undefined> {
    const { rows } = await this.database.query<{ body: string }>(findBody, [activityId, version]);
    return rows[0] && Buffer.from(rows[0].body, 'base64');
  }
}

/** As long for every part: a client may name a part at length. */
function keyOf(activityId: string, version: string, name: string): string {
  const part = name && createHash('sha1').update(name).digest('base64url');
  return `${activityId} ${version} ${part}`;
}

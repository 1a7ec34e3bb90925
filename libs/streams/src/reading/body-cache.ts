import { LRUCache } from 'lru-cache';

const MOST_BYTES = 48 * 1024 * 1024;

export interface Body {
  readonly version: string;
  /** Gzipped. */
  readonly bytes: Buffer;
}

/** The bytes of what is read often. Whether they are current, and whose they are, is the database's to say, each time. */
export class BodyCache {
  private readonly bodies = new LRUCache<string, Body>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length,
  });

  get(key: string): Body | undefined {
    return this.bodies.get(key);
  }

  /** `bytes` must not share memory with anything larger, which would be kept as well. */
  set(key: string, body: Body): void {
    this.bodies.set(key, body);
  }
}

import { setMaxListeners } from 'node:events';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { ChangeFeed, type Page, type PageQuery } from './change-feed.js';
import { ChangeTail } from './change-tail.js';
import { observeReaders, type Owner, Places } from './places.js';

export const MOST_POLLS = 1_000;

interface Wait {
  readonly owner: Owner;
  readonly ms: number;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
}

/** Reads a page of changes, and waits for one if there is none. A process has 1,000 places for waits. */
@Injectable()
export class LongPoll implements BeforeApplicationShutdown {
  private readonly places = new Places(MOST_POLLS);
  private readonly stopping = new AbortController();

  constructor(
    private readonly feed: ChangeFeed,
    private readonly tail: ChangeTail,
  ) {
    // One listener for each wait.
    setMaxListeners(0, this.stopping.signal);
    observeReaders('poll', this.places);
  }

  get waiting(): number {
    return this.places.count;
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  /**
   * The page is empty after the time, when the client leaves and when the process stops. Throws CursorExpired and TooManyReaders. Rejects
   * with the signal's reason if the client leaves before its first read.
   */
  async read(query: PageQuery, { owner, ms, signal }: Wait): Promise<Page> {
    const page = await this.feed.page(query, signal);
    if (ms === 0 || isWorthSending(page)) return page;
    const leave = this.places.take(owner);
    try {
      return await this.wait({ ...query, after: page.next }, page, ms, signal);
    } finally {
      leave();
    }
  }

  /** An empty page at the head of the log, for a reader that begins. */
  async latest(): Promise<Page> {
    return { items: [], next: await this.feed.head(), hasMore: false };
  }

  private async wait(query: PageQuery, empty: Page, ms: number, client: AbortSignal): Promise<Page> {
    const news = new WakeUp(ms, [client, this.stopping.signal]);
    const ignore = this.tail.listen({ ...query, wake: () => news.wake() });
    let page = empty;
    try {
      // The first pass reads the changes from before `listen`.
      do page = await this.feed.page({ ...query, after: page.next }, client);
      while (!isWorthSending(page) && (await news.next()));
      return page;
    } catch (error) {
      if (client.aborted) return empty;
      throw error;
    } finally {
      ignore();
      news.end();
    }
  }
}

const isWorthSending = ({ items, hasMore }: Page) => items.length > 0 || hasMore;

/** Keeps a wake-up until somebody waits for it. It ends after a time, or when one of the signals aborts. */
class WakeUp {
  private isWoken = false;
  private isOver = false;
  private resume: () => void = () => undefined;
  private readonly timer: NodeJS.Timeout;
  private readonly onAbort = () => this.end();

  constructor(
    ms: number,
    private readonly signals: readonly AbortSignal[],
  ) {
    this.timer = setTimeout(this.onAbort, ms);
    for (const signal of signals) signal.addEventListener('abort', this.onAbort);
    if (signals.some(({ aborted }) => aborted)) this.end();
  }

  wake(): void {
    this.isWoken = true;
    this.resume();
  }

  /** Resolves with true at the next wake-up, with false at the end. */
  async next(): Promise<boolean> {
    if (!this.isWoken && !this.isOver) await new Promise<void>((resolve) => (this.resume = resolve));
    this.isWoken = false;
    return !this.isOver;
  }

  end(): void {
    this.isOver = true;
    clearTimeout(this.timer);
    for (const signal of this.signals) signal.removeEventListener('abort', this.onAbort);
    this.resume();
  }
}

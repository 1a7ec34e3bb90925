import { type ServerResponse } from 'node:http';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { LOGGER, type Logger } from '#platform';
import { type Change, changeText } from '../change.js';
import { ChangeFeed, type Page, type Selection } from './change-feed.js';
import { ChangeTail } from './change-tail.js';
import { cursorOf, type Place, placeAt } from './cursor.js';
import { observeReaders, type Owner, Places } from './places.js';

const MOST_STREAMS = 10_000;
const PAGE = 100;
// Proxies cut silent connections. A reader that does not finish a page from one heartbeat to the next is dropped.
const HEARTBEAT_MS = 15_000;

export interface StreamQuery extends Selection {
  /** Undefined: the head of the log. */
  readonly after: Place | undefined;
  readonly owner: Owner;
  /** Rejects once the reader's token has expired or its key was revoked: the stream then ends without sending more. */
  readonly assertAllowed: () => Promise<void>;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
}

/**
 * Sends changes as server-sent events. A process has places for 10,000 streams.
 *
 * A quiet stream has no timer, no promise and no query of its own. A stream reads its next page when the client has taken the page before,
 * so a slow client costs one page of memory. The stream ends at any error; the client connects again and goes on from its last event.
 */
@Injectable()
export class EventStreams implements BeforeApplicationShutdown {
  private readonly places = new Places(MOST_STREAMS);
  private readonly streams = new Set<EventStream>();
  private heartbeat: NodeJS.Timeout | undefined;
  private isStopping = false;

  constructor(
    private readonly feed: ChangeFeed,
    private readonly tail: ChangeTail,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    observeReaders('stream', this.places);
  }

  beforeApplicationShutdown(): void {
    this.isStopping = true;
    clearInterval(this.heartbeat);
    for (const stream of this.streams) stream.end();
  }

  /**
   * Takes a place and checks the cursor. Only then calls `begin`, which returns the response to write to: an earlier error can still be
   * answered with its own status. Throws CursorExpired and TooManyReaders. Rejects with the signal's reason if the client leaves before a turn
   * to read.
   */
  async open(query: StreamQuery, begin: () => ServerResponse): Promise<void> {
    const leave = this.places.take(query.owner);
    try {
      const after = query.after ?? (await this.feed.head());
      const page = await this.feed.page({ ...query, after, limit: PAGE }, query.signal);
      this.follow({ ...query, after }, page, begin(), leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  private follow(
    query: StreamQuery & { after: Place },
    page: Page,
    to: ServerResponse,
    leave: () => void,
  ): void {
    const { athleteId, types, signal } = query;
    const read = (after: Place) => this.feed.page({ athleteId, types, after, limit: PAGE }, signal);
    // A client that has left emits no further `close`; a HEAD request has no body.
    if (to.destroyed || to.writableEnded) return leave();
    const stream = new EventStream(query, to, read, this.logger);
    const ignore = this.tail.listen(stream);
    this.streams.add(stream);
    this.heartbeat ??= setInterval(() => this.beat(), HEARTBEAT_MS);
    to.once('close', () => {
      ignore();
      leave();
      this.streams.delete(stream);
    });
    to.on('error', (err) => this.logger.debug({ err }, 'a stream of changes broke'));
    if (this.isStopping) stream.end();
    else stream.begin(page);
  }

  private beat(): void {
    const { place } = this.tail;
    for (const stream of this.streams) stream.beat(place);
    if (this.streams.size > 0) return;
    clearInterval(this.heartbeat);
    this.heartbeat = undefined;
  }
}

class EventStream {
  readonly athleteId: string | undefined;
  readonly types: Selection['types'];
  private readonly assertAllowed: StreamQuery['assertAllowed'];
  private after: Place;
  private isSending = false;
  private isWoken = false;
  private isBehind = false;

  constructor(
    { athleteId, types, after, assertAllowed }: StreamQuery & { after: Place },
    private readonly to: ServerResponse,
    private readonly read: (after: Place) => Promise<Page>,
    private readonly logger: Logger,
  ) {
    this.assertAllowed = assertAllowed;
    this.athleteId = athleteId;
    this.types = types;
    this.after = after;
  }

  /**
   * The first event has only the cursor, so that a client that loses the connection before its first change goes on from here. The page was
   * read before the stream listened, so `send` reads once more after it.
   */
  begin(page: Page): void {
    this.to.write(`retry: 1000\nid: ${cursorOf(this.after)}\n\n`);
    void this.send(page);
  }

  wake(): void {
    this.isWoken = true;
    if (!this.isSending) void this.send();
  }

  /** Drops a slow client, which gets the rest after it has connected again. */
  end(): void {
    if (this.to.writableLength > 0) this.to.destroy();
    else this.to.end();
  }

  private endFor(err: unknown): void {
    this.logger.debug({ err }, 'a stream of changes ended');
    this.end();
  }

  /** `place`: all streams have been told of the changes up to there, so an idle stream goes on from there. */
  beat(place: Place | undefined): void {
    if (this.isOver) return;
    if (this.to.writableLength > 0) {
      if (this.isBehind) this.to.destroy();
      this.isBehind = true;
      return;
    }
    this.isBehind = false;
    if (this.isSending) return;
    if (place && place.seq > this.after.seq) this.after = place;
    this.to.write(`: heartbeat\nid: ${cursorOf(this.after)}\n\n`);
    this.assertAllowed().catch((err: unknown) => this.endFor(err));
  }

  private async send(first?: Page): Promise<void> {
    this.isSending = true;
    try {
      if (first && !(await this.write(first))) return;
      let page: Page;
      do {
        this.isWoken = false;
        page = await this.read(this.after);
        if (!(await this.write(page))) return;
      } while (page.hasMore || this.isWoken);
    } catch (err) {
      this.endFor(err);
    } finally {
      this.isSending = false;
    }
  }

  /** False: the client has left, or was dropped. */
  private async write({ items, next }: Page): Promise<boolean> {
    if (items.length > 0) await this.assertAllowed();
    if (this.isOver) return false;
    this.after = next;
    if (items.length === 0) return true;
    // The client has taken the page before, so it is slow and not stuck.
    this.isBehind = false;
    return this.to.write(items.map(eventOf).join('')) || this.drained();
  }

  private get isOver(): boolean {
    return this.to.writableEnded || this.to.destroyed;
  }

  private drained(): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isDrained: boolean) => {
        this.to.off('drain', onDrain).off('close', onClose);
        resolve(isDrained);
      };
      const onDrain = () => end(true);
      const onClose = () => end(false);
      this.to.once('drain', onDrain).once('close', onClose);
      if (this.to.destroyed) onClose();
    });
  }
}

const eventOf = (change: Change) =>
  `id: ${cursorOf(placeAt(change))}\nevent: ${change.type}\ndata: ${oneLine(changeText(change))}\n\n`;

/** A line break within JSON stands only between its values. */
const oneLine = (json: string) => (json.includes('\n') ? json.replaceAll('\n', ' ') : json);

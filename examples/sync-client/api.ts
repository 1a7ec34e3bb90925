import { setTimeout as pause } from 'node:timers/promises';

export interface Activity {
  readonly id: string;
  readonly provider: string;
}

export interface Change {
  readonly id: string;
  readonly type: string;
  readonly athlete_id: string;
  readonly subject_id: string;
  readonly revision: number;
  /** The activity, for changes of activities and of their streams that are not deletions. */
  readonly data: Activity | null;
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

type Query = Readonly<Record<string, string | number>>;

/** The changes after the cursor are no longer kept. */
export class CursorExpired extends Error {
  override readonly name = 'CursorExpired';
}

class NotThere extends Error {}

const PAUSE_MS = 1_000;
// Longer than the longest `wait` of a long poll.
const REQUEST_MS = 60_000;

/** The requests of this example. A request is sent again until the API answers: it may be restarting, or ask us to slow down. */
export class Api {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  async changes(after: string, query: Query): Promise<{ items: readonly Change[]; next_cursor: string }> {
    return this.get('/v1/changes', { after, ...query });
  }

  athletes(): AsyncGenerator<ReadonlyArray<{ readonly id: string }>> {
    return this.pages('/v1/athletes');
  }

  /** No pages for an athlete who was deleted meanwhile. */
  async *activities(athleteId: string): AsyncGenerator<readonly Activity[]> {
    try {
      yield* this.pages<Activity>('/v1/activities', { 'pacekeeper-athlete': athleteId });
    } catch (error) {
      if (!(error instanceof NotThere)) throw error;
    }
  }

  private async *pages<Item>(
    path: string,
    headers: Record<string, string> = {},
  ): AsyncGenerator<readonly Item[]> {
    for (let query: Query = { limit: 100 }; ;) {
      const page: Page<Item> = await this.get(path, query, headers);
      yield page.items;
      if (page.next_cursor === null) return;
      query = { ...query, cursor: page.next_cursor };
    }
  }

  private async get<T>(path: string, query: Query, headers: Record<string, string> = {}): Promise<T> {
    const url = new URL(path, this.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    for (;;) {
      const answer = await fetch(url, {
        headers: { authorization: `Bearer ${this.key}`, ...headers },
        signal: AbortSignal.timeout(REQUEST_MS),
      }).catch(() => undefined);
      if (answer?.ok) return (await answer.json()) as T;
      if (answer?.status === 410) throw new CursorExpired();
      if (answer?.status === 404) throw new NotThere(path);
      if (answer && answer.status < 500 && answer.status !== 429)
        throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      await pause(Number(answer?.headers.get('retry-after') ?? 0) * 1_000 || PAUSE_MS);
    }
  }
}

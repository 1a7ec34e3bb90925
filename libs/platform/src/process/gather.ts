interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface GatherOptions<Request> {
  /** Decides which requests may share a batch; by default all. */
  readonly areAlike?: (one: Request, other: Request) => boolean;
  /** When a turn ends. `tick`: at the end of the present callback. `poll`: after the callbacks of all sockets that are ready. */
  readonly turnEnd?: 'tick' | 'poll';
  /** While this many batches are under way, further requests wait and form larger batches. */
  readonly mostAtOnce?: number;
}

/**
 * Sends requests of the same turn of the event loop in batches. A single request is sent at the end of the turn, which is no noticeable
 * delay. If a batch fails, all of its requests are rejected with the error. Nothing is retried.
 */
export class Gather<Request, Answer> {
  private groups: Waiting<Request, Answer>[][] = [];
  private isTurnEndAwaited = false;
  private underWay = 0;

  /** `send` gets a batch of requests that are alike, and returns the answers in the order of the requests. */
  constructor(
    private readonly send: (requests: readonly Request[]) => Promise<readonly Answer[]>,
    private readonly options: GatherOptions<Request> = {},
  ) {}

  submit(request: Request): Promise<Answer> {
    this.awaitTurnEnd();
    return new Promise((resolve, reject) => this.groupOf(request).push({ request, resolve, reject }));
  }

  private groupOf(request: Request): Waiting<Request, Answer>[] {
    const { areAlike = () => true } = this.options;
    for (const group of this.groups) if (group[0] && areAlike(group[0].request, request)) return group;
    const group: Waiting<Request, Answer>[] = [];
    this.groups.push(group);
    return group;
  }

  private awaitTurnEnd(): void {
    if (this.isTurnEndAwaited) return;
    this.isTurnEndAwaited = true;
    const end = () => {
      this.isTurnEndAwaited = false;
      this.sendWaiting();
    };
    if (this.options.turnEnd === 'poll') setImmediate(end);
    else process.nextTick(end);
  }

  private sendWaiting(): void {
    const { mostAtOnce = Infinity } = this.options;
    while (this.underWay < mostAtOnce) {
      const group = this.groups.shift();
      if (!group) return;
      void this.sendGroup(group);
    }
  }

  private async sendGroup(group: readonly Waiting<Request, Answer>[]): Promise<void> {
    this.underWay += 1;
    try {
      const answers = await this.send(group.map(({ request }) => request));
      group.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      this.underWay -= 1;
      this.sendWaiting();
    }
  }
}

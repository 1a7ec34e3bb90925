interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export interface GatherOptions<Question> {
  /** Those that may go together; by default all. */
  readonly areAlike?: (one: Question, other: Question) => boolean;
  /** When a turn ends: with what is running now, or with all that has arrived on the sockets by then. */
  readonly turnEnd?: 'tick' | 'poll';
  /** With so many put and not answered yet, the next wait and grow: the busier it is, the more go together. */
  readonly mostAtOnce?: number;
}

/**
 * Questions asked within one turn of the event loop are put together, those that are alike in one go. A single one is not
 * delayed: it leaves with the end of the turn, as it would have anyway.
 */
export class Gather<Question, Answer> {
  private groups: Waiting<Question, Answer>[][] = [];
  private isTurnEndAwaited = false;
  private underWay = 0;

  /** `put` answers like questions, in their order. */
  constructor(
    private readonly put: (questions: readonly Question[]) => Promise<readonly Answer[]>,
    private readonly options: GatherOptions<Question> = {},
  ) {}

  ask(question: Question): Promise<Answer> {
    this.awaitTurnEnd();
    return new Promise((resolve, reject) => this.groupOf(question).push({ question, resolve, reject }));
  }

  private groupOf(question: Question): Waiting<Question, Answer>[] {
    const { areAlike = () => true } = this.options;
    for (const group of this.groups) if (group[0] && areAlike(group[0].question, question)) return group;
    const group: Waiting<Question, Answer>[] = [];
    this.groups.push(group);
    return group;
  }

  private awaitTurnEnd(): void {
    if (this.isTurnEndAwaited) return;
    this.isTurnEndAwaited = true;
    const end = () => {
      this.isTurnEndAwaited = false;
      this.putWaiting();
    };
    if (this.options.turnEnd === 'poll') setImmediate(end);
    else process.nextTick(end);
  }

  private putWaiting(): void {
    const { mostAtOnce = Infinity } = this.options;
    while (this.underWay < mostAtOnce) {
      const group = this.groups.shift();
      if (!group) return;
      void this.putGroup(group);
    }
  }

  private async putGroup(group: readonly Waiting<Question, Answer>[]): Promise<void> {
    this.underWay += 1;
    try {
      const answers = await this.put(group.map(({ question }) => question));
      group.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      this.underWay -= 1;
      this.putWaiting();
    }
  }
}

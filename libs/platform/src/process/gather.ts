interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** When a turn ends: with what is running now, or with all that has arrived on the sockets by now. */
export type TurnEnd = 'tick' | 'poll';

/**
 * Questions asked within one turn of the event loop are put together, those that are alike in one go. A single one is not
 * delayed: it leaves with the end of the turn, as it would have anyway.
 */
export class Gather<Question, Answer> {
  private groups: Waiting<Question, Answer>[][] = [];

  /** `put` answers like questions, in their order. */
  constructor(
    private readonly areAlike: (one: Question, other: Question) => boolean,
    private readonly put: (questions: readonly Question[]) => Promise<readonly Answer[]>,
    private readonly turnEnd: TurnEnd = 'tick',
  ) {}

  ask(question: Question): Promise<Answer> {
    if (this.groups.length === 0) this.atTurnEnd(() => this.putAll());
    return new Promise((resolve, reject) => this.groupOf(question).push({ question, resolve, reject }));
  }

  private atTurnEnd(work: () => void): void {
    if (this.turnEnd === 'tick') process.nextTick(work);
    else setImmediate(work);
  }

  private groupOf(question: Question): Waiting<Question, Answer>[] {
    for (const group of this.groups) if (group[0] && this.areAlike(group[0].question, question)) return group;
    const group: Waiting<Question, Answer>[] = [];
    this.groups.push(group);
    return group;
  }

  private putAll(): void {
    const { groups } = this;
    this.groups = [];
    for (const group of groups) void this.putGroup(group);
  }

  private async putGroup(group: readonly Waiting<Question, Answer>[]): Promise<void> {
    try {
      const answers = await this.put(group.map(({ question }) => question));
      group.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}

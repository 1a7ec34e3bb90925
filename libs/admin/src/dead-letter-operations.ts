import { Inject, Injectable } from '@nestjs/common';
import {
  type DeadLetter,
  type DeadLetterPage,
  DeadLetters,
  type LetterFilter,
  LOGGER,
  type Logger,
  OperatorActions,
  type SubjectFilter,
} from '#platform';
import { DeadLetterOrders, type OrderAction } from './dead-letter-orders.js';

/** An operator's actions on dead letters. Each action is recorded with the operator's name before it is carried out. */
@Injectable()
export class DeadLetterOperations {
  constructor(
    private readonly letters: DeadLetters,
    private readonly orders: DeadLetterOrders,
    private readonly actions: OperatorActions,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  list(after: number, limit: number, filter: SubjectFilter): Promise<DeadLetterPage> {
    return this.letters.list(after, limit, filter);
  }

  find(seq: number): Promise<DeadLetter> {
    return this.letters.find(seq);
  }

  async replay(seq: number, actor: string): Promise<DeadLetter> {
    const letter = await this.noted('dlq.replay', seq, actor);
    await this.letters.replay(seq);
    return letter;
  }

  async discard(seq: number, actor: string): Promise<DeadLetter> {
    const letter = await this.noted('dlq.discard', seq, actor);
    await this.letters.discard(seq);
    return letter;
  }

  /**
   * Orders a worker to replay or discard all dead letters that match the filter. An empty filter matches all dead letters. Returns how many
   * match now.
   */
  async order(action: OrderAction, filter: LetterFilter, actor: string): Promise<number> {
    const matched = await this.orders.place(action, filter, actor);
    this.logger.info(
      { actor, action: `dlq.${action}`, matched },
      'replay or discard of dead letters requested',
    );
    return matched;
  }

  /** The recorded action does not contain the payload, so that nothing of a discarded night remains. */
  private async noted(action: string, seq: number, actor: string): Promise<DeadLetter> {
    const letter = await this.letters.find(seq);
    const { subject, reason, at } = letter;
    await this.actions.note({ actor, action, target: String(seq), detail: { subject, reason, at } });
    this.logger.info({ actor, action, seq, subject }, 'replay or discard of a dead letter requested');
    return letter;
  }
}

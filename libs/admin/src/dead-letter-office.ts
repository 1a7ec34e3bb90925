import { Inject, Injectable } from '@nestjs/common';
import {
  type DeadLetter,
  type DeadLetterPage,
  DeadLetters,
  LOGGER,
  type Logger,
  OperatorActions,
} from '#platform';

/** Dead letters, as operators handle them: every change leaves a note of who made it. */
@Injectable()
export class DeadLetterOffice {
  constructor(
    private readonly letters: DeadLetters,
    private readonly actions: OperatorActions,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  list(after: number, limit: number): Promise<DeadLetterPage> {
    return this.letters.list(after, limit);
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

  /** Without the payload: a discarded night should be gone. */
  private async noted(action: string, seq: number, actor: string): Promise<DeadLetter> {
    const letter = await this.letters.find(seq);
    const { subject, reason, at } = letter;
    await this.actions.note({ actor, action, target: String(seq), detail: { subject, reason, at } });
    this.logger.info({ actor, action, seq, subject }, 'dead letter handled');
    return letter;
  }
}

import { Injectable } from '@nestjs/common';
import { ConsumerStates, Database, DeadLetters, loadSql, type SilentConsumer } from '#platform';
import { SLEEP_CONSUMERS } from '#sleep';

const countAttention = loadSql(import.meta.url, './sql/count-attention.sql');

interface StoredCounts {
  readonly needs_reauth: number;
  readonly failing_endpoints: number;
  readonly webhook_events_set_aside: number;
}

export interface AttentionView extends StoredCounts {
  /** Null while NATS does not answer. */
  readonly dead_letters: number | null;
  /** Consumers that no worker pulls from. Null while NATS does not answer. */
  readonly silent_consumers: readonly SilentConsumer[] | null;
}

/** Counts what waits for a person. */
@Injectable()
export class Attention {
  constructor(
    private readonly database: Database,
    private readonly letters: DeadLetters,
    private readonly consumers: ConsumerStates,
  ) {}

  async read(): Promise<AttentionView> {
    const [{ rows }, letters, silent] = await Promise.all([
      this.database.query<StoredCounts>(countAttention),
      this.letters.countByReason(),
      this.consumers.silentOf(SLEEP_CONSUMERS),
    ]);
    return {
      ...(rows[0] as StoredCounts),
      dead_letters: letters ? [...letters.values()].reduce((sum, count) => sum + count, 0) : null,
      silent_consumers: silent ?? null,
    };
  }
}
